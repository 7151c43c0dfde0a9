#include "ctl/man_pages.h"

#include <algorithm>
#include <cctype>

#include "base/option_text.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

using ManRows = std::span<const std::pair<std::string, std::string>>;

std::string PageName(std::string_view program, std::string_view path) {
  std::string name = Format("{}-{}", program, path);
  std::ranges::replace(name, ' ', '-');
  return name;
}

// Beginning of a page. man-db indexes the section NAME: one line, without a full stop.
std::string ManHead(const std::string& name, std::string_view version, std::string_view program,
                    std::string_view summary) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (summary.ends_with('.')) summary.remove_suffix(1);
  return Format(".TH \"{}\" \"1\" \"\" \"{} {}\" \"User Commands\"\n", ManText(upper), program,
                version) +
         Format(".SH NAME\n{} \\- {}\n", ManText(name), ManText(summary));
}

std::string ManSection(std::string_view title, const std::string& body) {
  return body.empty() ? std::string() : Format(".SH \"{}\"\n{}", title, body);
}

std::string ManTagged(std::string_view tag, std::string_view text) {
  return Format(".TP\n\\fB{}\\fR\n{}\n", ManText(tag), ManText(text));
}

std::string ManTable(ManRows rows) {
  std::string text;
  for (const auto& [name, meaning] : rows) text += ManTagged(name, meaning);
  return text;
}

std::string ManOptions(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) text += ManTagged(Signature(option), Sentences(option));
  return text;
}

// Lines as they are.
std::string ManVerbatim(std::span<const std::string_view> lines) {
  std::string text = ".nf\n.RS\n";
  for (const std::string_view line : lines) text += ManText(line) + "\n";
  return text + ".RE\n.fi\n";
}

std::string ManLink(const std::string& name) {
  return Format("\\fB{}\\fR(1)", ManText(name));
}

std::string CommandPage(const ManualInput& input, const CommandSpec& command) {
  const std::string_view program = input.program.name;
  const std::string name = PageName(program, command.path);
  std::vector<std::string> links = {ManLink(std::string(program))};
  const std::string_view group = command.path.substr(0, command.path.find(' '));
  for (const CommandSpec& other : input.program.commands)
    if (&other != &command && other.path.substr(0, other.path.find(' ')) == group)
      links.push_back(ManLink(PageName(program, other.path)));
  std::string text = ManHead(name, input.version, program, command.summary);
  text += ManSection("SYNOPSIS", Format("\\fB{}\\fR\n", ManText(Usage(program, command))));
  const std::string_view description =
      command.description.empty() ? command.summary : command.description;
  text += ManSection("DESCRIPTION", ManText(description) + "\n");
  text += ManSection("OPTIONS", ManOptions(command.options) +
                                    Format(".PP\nOptions of every command, and the forms "
                                           "of values: {}\n",
                                           links.front()));
  text += ManSection("EXIT STATUS", ManTable(input.exit_statuses));
  text += ManSection("EXAMPLES", ManVerbatim(Split(command.example, '\n')));
  return text + ManSection("SEE ALSO", Join(links, ", ") + "\n");
}

std::string ProgramPage(const ManualInput& input) {
  const ProgramSpec& program = input.program;
  std::string text = ManHead(std::string(program.name), input.version, program.name,
                             "command-line client of fabricd");
  text += ManSection("SYNOPSIS", Format("\\fB{} COMMAND [options]\\fR\n", program.name));
  text += ManSection("DESCRIPTION", ManText(program.summary) + "\n");
  std::string commands;
  for (const CommandSpec& command : program.commands)
    commands += Format(".TP\n{}\n{}\n", ManLink(PageName(program.name, command.path)),
                       ManText(command.summary));
  text += ManSection("COMMANDS", commands);
  text += ManSection("OPTIONS OF EVERY COMMAND", ManOptions(program.options));
  text += ManSection("VALUES", ManText(ValueForms()) + "\n");
  text += ManSection("EXIT STATUS", ManTable(input.exit_statuses));
  text += ManSection("ENVIRONMENT", ManTable(input.variables));
  return text + ManSection("EXAMPLES", ManVerbatim(input.examples));
}

}  // namespace

std::string ManText(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    at_start = c == '\n';
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if (c == '~')
      escaped += "\\(ti";
    else if (c == '^')
      escaped += "\\(ha";
    else if (c == '`')
      escaped += "\\(ga";
    else
      escaped += c;
  }
  return escaped;
}

std::vector<ManPage> ManualPages(const ManualInput& input) {
  std::vector<ManPage> pages = {{std::string(input.program.name), ProgramPage(input)}};
  for (const CommandSpec& command : input.program.commands)
    pages.push_back({PageName(input.program.name, command.path), CommandPage(input, command)});
  return pages;
}

}  // namespace fabric::ctl
