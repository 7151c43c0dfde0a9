#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::ctl {
namespace {

Result<Output> RunProfileList(Client&, const Arguments&, Stream&) {
  Output output;
  Table table{
      .columns = {{.title = "PROFILE"}, {.title = "INHERITS"}, {.title = "TITLE", .elastic = true}},
      .empty_note = "No profiles."};
  auto list = std::make_unique<v1::ProfileList>();
  for (const v1::Profile& profile : profile::ShippedProfiles()) {
    *list->add_profiles() = profile;
    table.rows.push_back({Cell(profile.name()), Cell(profile.inherits()), Cell(profile.title())});
    output.names.push_back(profile.name());
  }
  output.tables.push_back(std::move(table));
  output.message = std::move(list);
  return output;
}

}  // namespace

extern const Command profile_list = {
    .path = "profile list",
    .summary = "List the built-in profiles.",
    .description =
        "A profile contains the expected values of a fabric. Works without a controller.",
    .example =
        "fabricctl profile list\n"
        "fabricctl profile list -o name",
    .options = {},
    .run = RunProfileList,
    .offline = true,
};

}  // namespace fabric::ctl
