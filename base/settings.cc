#include "base/settings.h"

#include <vector>

#include "base/command_line.h"
#include "base/input.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

constexpr Option kEarlyEnds[] = {
    {.name = "help", .type = OptionType::kBool, .doc = "Print this help and exit.", .letter = 'h'},
    {.name = "version", .type = OptionType::kBool, .doc = "Print the version and exit."},
    {.name = "print-config",
     .type = OptionType::kBool,
     .doc = "Print every setting with its origin and exit."},
};

std::vector<Option> WithEarlyEnds(std::vector<Option> options) {
  options.insert(options.end(), std::begin(kEarlyEnds), std::end(kEarlyEnds));
  return options;
}

}  // namespace

Result<Settings> Settings::Load(std::span<const Option> table, std::span<const char* const> args) {
  Settings settings(table);
  RETURN_IF_ERROR(settings.ReadArguments(args));
  if (settings.request_ == Request::kHelp || settings.request_ == Request::kShowVersion)
    return settings;
  if (const std::string path = settings.Text("config"); !path.empty()) {
    ASSIGN_OR_RETURN(const std::string yaml, ReadFile(path, kFileBytesMax));
    RETURN_IF_ERROR(settings.ReadYaml(yaml, path));
  }
  if (settings.request_ == Request::kRun) RETURN_IF_ERROR(settings.CheckRequired());
  return settings;
}

Status Settings::ReadArguments(std::span<const char* const> args) {
  std::vector<Option> options;
  for (const Entry& entry : entries()) options.push_back(*entry.option);
  options = WithEarlyEnds(std::move(options));
  const ProgramSpec program{
      .name = {}, .summary = {}, .commands = {}, .options = options, .once = true};
  const std::vector<std::string_view> words(args.begin(), args.end());
  ASSIGN_OR_RETURN(const CommandLine line, ParseCommandLine(program, words));
  const Values& given = line.values;
  request_ = line.help                    ? Request::kHelp
             : given.Bool("version")      ? Request::kShowVersion
             : given.Bool("print-config") ? Request::kPrintConfig
                                          : Request::kRun;
  for (const Entry& entry : entries())
    if (given.Given(entry.option->name))
      RETURN_IF_ERROR(Set(entry.option->name, given.Text(entry.option->name)));
  return {};
}

Status Settings::CheckRequired() const {
  for (const Entry& entry : entries())
    if (entry.option->required && entry.texts.empty())
      return {Code::kInvalidArgument, Format("--{} {} is required: {}", entry.option->name,
                                             ValueName(*entry.option), entry.option->doc)};
  return {};
}

std::string SettingsHelp(std::string_view program, std::string_view summary,
                         std::span<const Option> table) {
  const std::vector<Option> options = WithEarlyEnds({table.begin(), table.end()});
  return HelpText({.name = program, .summary = summary, .commands = {}, .options = options}, {});
}

std::string SettingsReference(std::string_view program, std::span<const Option> table) {
  std::string text =
      Format("## {}\n\n| flag, key | value | default | bounds | meaning |\n|---|---|---|---|---|\n",
             program);
  for (const Option& row : table) {
    std::string bounds(row.min);
    if (!row.max.empty()) bounds += Format("{}to {}", bounds.empty() ? "" : " ", row.max);
    text += Format("| `{}` | {} | {} | {} | {} |\n", row.name, MarkdownCell(ValueName(row)),
                   row.required ? "required" : DefaultOf(row), bounds, row.doc);
  }
  return text + "\n";
}

}  // namespace fabric
