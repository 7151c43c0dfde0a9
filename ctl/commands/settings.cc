#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"

namespace fabric::ctl {
namespace {

constexpr Option kSettingsOptions[] = {
    {.name = "changed",
     .type = OptionType::kBool,
     .doc = "Only settings that are not at their default."},
};

std::string_view SourceWord(v1::SettingSource source) {
  switch (source) {
    case v1::SETTING_SOURCE_DEFAULT: return "default";
    case v1::SETTING_SOURCE_FILE: return "file";
    case v1::SETTING_SOURCE_COMMAND_LINE: return "command line";
    default: return kAbsent;
  }
}

Result<Output> RunSettings(Client& client, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(v1::EffectiveSettings all,
                   client.Call<v1::EffectiveSettings>(v1::GetSettingsRequest()));
  v1::EffectiveSettings shown;
  for (v1::EffectiveSetting& setting : *all.mutable_settings())
    if (!arguments.Bool("changed") || setting.source() != v1::SETTING_SOURCE_DEFAULT)
      shown.add_settings()->Swap(&setting);
  Output output;
  Table table{.columns = {{.title = "SETTING"}, {.title = "VALUE"}, {.title = "SOURCE"}},
              .empty_note = "All settings are at their defaults."};
  for (const v1::EffectiveSetting& setting : shown.settings()) {
    table.rows.push_back({setting.name(),
                          Cell(Join({setting.values().begin(), setting.values().end()}, " ")),
                          std::string(SourceWord(setting.source()))});
    output.names.push_back(setting.name());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::EffectiveSettings>(std::move(shown));
  return output;
}

}  // namespace

extern const Command settings = {
    .path = "settings",
    .summary = "Show the settings that fabricd uses, and where each is from.",
    .description =
        "Settings that a reload applied have their new values; others have those of the start of "
        "fabricd. Passwords and tokens are removed. Needs the role admin. Without a controller: "
        "fabricd --config FILE --print-config.",
    .example =
        "fabricctl settings --changed\n"
        "fabricctl settings -o json",
    .options = kSettingsOptions,
    .run = RunSettings,
};

}  // namespace fabric::ctl
