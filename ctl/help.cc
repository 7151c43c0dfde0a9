#include "ctl/help.h"

#include <algorithm>

#include "base/text.h"
#include "ctl/arguments.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kHelpColumns = 80;

constexpr std::string_view kWhatItIs =
    "fabricctl shows what fabricd knows about the RDMA fabric of a cluster, and has\n"
    "it validated and probed.\n";

struct ExitStatus {
  int status;
  std::string_view meaning;
};
constexpr ExitStatus kExitStatuses[] = {
    {kExitOk, "All is well."},
    {kExitFindings, "Done, and there is a failing finding or a failed probe."},
    {kExitUsage, "The command line, or what it asks for, makes no sense."},
    {kExitUnreachable, "The controller cannot be reached, or did not answer in time."},
    {kExitNotAllowed, "The controller does not allow it."},
    {kExitError, "Anything else; standard error says what."},
    {kExitUnknown, "A certificate neither passes nor fails: something could not be told."},
};

struct Variable {
  std::string_view name;
  std::string_view meaning;
};
constexpr Variable kVariables[] = {
    {"FABRICCTL_CONTROLLER", "HOST:PORT of the controller when --controller is not given."},
    {"USER", "Who acknowledges or silences when --author is not given."},
    {"NO_COLOR", "No colours when it is set to anything."},
};

constexpr std::string_view kExamples[] = {
    "fabricctl nodes",
    "fabricctl findings --severity error",
    "fabricctl probe run --rails 0 && fabricctl matrix",
    "fabricctl devices -o json | jq '.devices[].netdev'",
};

bool IsOperand(const Option& option) {
  return !option.name.starts_with("-");
}

std::string Usage(const Command& command) {
  std::string usage = Format("fabricctl {}", command.path);
  for (const Option& option : command.options)
    if (IsOperand(option)) {
      usage += option.required ? Format(" {}", option.name) : Format(" [{}]", option.name);
      if (option.repeated) usage += "...";
    }
  return usage + " [options]";
}

// "-o, --output table|wide"
std::string OptionName(const Option& option) {
  std::string name = option.letter == '\0' ? std::string() : Format("-{}, ", option.letter);
  name += option.name;
  if (!IsOperand(option) && !option.value.empty()) name += Format(" {}", option.value);
  return name;
}

std::string OptionHelp(const Option& option) {
  std::string help(option.help);
  if (!option.fallback.empty()) help += Format(" Default: {}.", option.fallback);
  return help;
}

// `text` in lines that fit, each but the first behind `indent` blanks.
std::string Wrapped(std::string_view text, std::size_t indent) {
  std::string lines;
  std::size_t column = indent;
  for (const std::string_view word : Words(text)) {
    if (column > indent && column + 1 + word.size() > kHelpColumns) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

std::string Rows(const std::vector<std::pair<std::string, std::string>>& rows) {
  constexpr std::size_t kNameColumnsMax = 26;
  std::size_t width = 0;
  for (const auto& [name, help] : rows)
    if (name.size() <= kNameColumnsMax) width = std::max(width, name.size());
  const std::size_t indent = 2 + width + 2;
  std::string text;
  for (const auto& [name, help] : rows) {
    text += "  " + name;
    if (name.size() > width)
      text += "\n" + std::string(indent, ' ');
    else
      text += std::string(width + 2 - name.size(), ' ');
    text += Wrapped(help, indent) + "\n";
  }
  return text;
}

std::string OptionRows(std::span<const Option> options) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Option& option : options) rows.emplace_back(OptionName(option), OptionHelp(option));
  return Rows(rows);
}

std::string ExitRows() {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const ExitStatus& row : kExitStatuses)
    rows.emplace_back(Format("{}", row.status), row.meaning);
  return Rows(rows);
}

std::string MarkdownCell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string MarkdownOptions(std::span<const Option> options) {
  std::string text = "| option | meaning |\n|---|---|\n";
  for (const Option& option : options)
    text += Format("| `{}` | {} |\n", MarkdownCell(OptionName(option)),
                   MarkdownCell(OptionHelp(option)));
  return text;
}

}  // namespace

std::string ProgramHelp(std::span<const Command* const> commands, std::string_view group) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Command* command : commands)
    if (group.empty() || command->path.starts_with(Format("{} ", group)))
      rows.emplace_back(command->path, command->summary);
  const std::string name = group.empty() ? "fabricctl" : Format("fabricctl {}", group);
  std::string text = Format("Usage: {} COMMAND [options]\n", name);
  if (group.empty()) text += Format("\n{}", kWhatItIs);
  text += "\nCommands:\n" + Rows(rows);
  if (group.empty()) {
    text += "\nOptions of every command:\n" + OptionRows(GlobalOptions());
    text += "\nExit status:\n" + ExitRows();
    text += "\nEnvironment:\n";
    std::vector<std::pair<std::string, std::string>> variables;
    for (const Variable& row : kVariables) variables.emplace_back(row.name, row.meaning);
    text += Rows(variables) + "\nExamples:\n";
    for (const std::string_view example : kExamples) text += Format("  {}\n", example);
  }
  return text + Format("\n\"{} COMMAND --help\" tells more about a command.\n", name);
}

std::string CommandHelp(const Command& command) {
  std::string text = Format("Usage: {}\n\n{}\n", Usage(command), Wrapped(command.summary, 0));
  if (!command.description.empty()) text += Format("\n{}\n", Wrapped(command.description, 0));
  if (!command.options.empty()) text += "\nOptions:\n" + OptionRows(command.options);
  text += "\nOptions of every command:\n" + OptionRows(GlobalOptions());
  text += "\nExit status:\n" + ExitRows();
  return text + Format("\nExample:\n  {}\n", command.example);
}

std::string ReferencePage(std::span<const Command* const> commands) {
  std::string text =
      "# fabricctl\n\n<!-- Generated: fabricctl reference > docs/reference/CLI.md -->\n\n";
  text += Format("{}\n## Commands\n\n| command | what it does |\n|---|---|\n", kWhatItIs);
  for (const Command* command : commands) {
    std::string anchor(command->path);
    std::ranges::replace(anchor, ' ', '-');
    text += Format("| [`{}`](#fabricctl-{}) | {} |\n", command->path, anchor, command->summary);
  }
  text += "\n## Options of every command\n\n" + MarkdownOptions(GlobalOptions());
  text += "\n## Exit status\n\n| status | meaning |\n|---|---|\n";
  for (const ExitStatus& row : kExitStatuses)
    text += Format("| {} | {} |\n", row.status, row.meaning);
  text += "\n## Environment\n\n| variable | meaning |\n|---|---|\n";
  for (const Variable& row : kVariables) text += Format("| `{}` | {} |\n", row.name, row.meaning);
  for (const Command* command : commands) {
    text += Format("\n## fabricctl {}\n\n{}\n\n    {}\n", command->path, command->summary,
                   Usage(*command));
    if (!command->description.empty()) text += Format("\n{}\n", Wrapped(command->description, 0));
    if (!command->options.empty()) text += "\n" + MarkdownOptions(command->options);
    text += Format("\nExample:\n\n    {}\n", command->example);
  }
  return text;
}

}  // namespace fabric::ctl
