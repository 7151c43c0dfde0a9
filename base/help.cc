// Help texts of base/command_line.h.
#include <algorithm>

#include "base/command_line.h"
#include "base/option_text.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kHelpColumns = 80;

}  // namespace

std::string Signature(const Option& option) {
  std::string name = option.letter == '\0' ? std::string() : Format("-{}, ", option.letter);
  name += DisplayName(option);
  const bool with_value = !IsOperand(option) && option.type != OptionType::kBool;
  return with_value ? Format("{} {}", name, ValueName(option)) : name;
}

std::string Sentences(const Option& option) {
  std::string text(option.doc);
  if (option.names != nullptr) text += Format(" Names: {}.", option.names());
  if (option.required && !IsOperand(option)) text += " Required.";
  if (!option.fallback.empty()) text += Format(" Default: {}.", option.fallback);
  return text;
}

std::string_view ValueForms() {
  return "DURATION is a number with a unit: 500ms, 10s or 1.5h. Units are ns, us, ms, s, m, h and "
         "d. SIZE is\na number of bytes, or a number with a unit of 1024: 4096, 64KiB or 8M. Units "
         "are K, M, G and T, with or\nwithout iB. HOST:PORT is 127.0.0.1:9418, [::1]:9418 or "
         "controller.example:9418.\n";
}

std::string HelpText(const ProgramSpec& program, const CommandLine& line) {
  if (line.command != nullptr) {
    const CommandSpec& command = *line.command;
    std::string text =
        Format("Usage: {}\n\n{}\n", Usage(program.name, command), Wrapped(command.summary, 0));
    if (!command.description.empty()) text += Format("\n{}\n", Wrapped(command.description, 0));
    if (!command.options.empty()) text += "\nOptions:\n" + OptionRows(command.options);
    text += "\nOptions of every command:\n" + OptionRows(program.options);
    const std::vector<std::string_view> examples = Split(command.example, '\n');
    text += examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
    for (const std::string_view example : examples) text += Format("  {}\n", example);
    return text;
  }
  const std::string name =
      line.group.empty() ? std::string(program.name) : Format("{} {}", program.name, line.group);
  std::vector<std::pair<std::string, std::string>> rows;
  for (const CommandSpec& command : program.commands)
    if (line.group.empty() || command.path.starts_with(Format("{} ", line.group)))
      rows.emplace_back(command.path, command.summary);
  std::string text =
      Format("Usage: {}{} [options]\n", name, program.commands.empty() ? "" : " COMMAND");
  if (line.group.empty()) text += Format("\n{}\n", Wrapped(program.summary, 0));
  if (!rows.empty()) text += "\nCommands:\n" + HelpRows(rows);
  if (line.group.empty())
    text += Format("\nOptions{}:\n", rows.empty() ? "" : " of every command") +
            OptionRows(program.options);
  if (rows.empty()) return text;
  return text + Format("\nFor help about a command, run \"{} COMMAND --help\".\n", name);
}

std::string Usage(std::string_view program, const CommandSpec& command) {
  std::string usage = Format("{} {}", program, command.path);
  for (const Option& option : command.options)
    if (IsOperand(option)) {
      usage += option.required ? Format(" {}", option.name) : Format(" [{}]", option.name);
      if (option.repeated) usage += "...";
    }
  return usage + " [options]";
}

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

std::string HelpRows(const std::vector<std::pair<std::string, std::string>>& rows) {
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
  for (const Option& option : options) rows.emplace_back(Signature(option), Sentences(option));
  return HelpRows(rows);
}

std::string MarkdownCell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string OptionTable(std::span<const Option> options) {
  std::string text = "| option | meaning |\n|---|---|\n";
  for (const Option& option : options)
    text +=
        Format("| `{}` | {} |\n", MarkdownCell(Signature(option)), MarkdownCell(Sentences(option)));
  return text;
}

}  // namespace fabric
