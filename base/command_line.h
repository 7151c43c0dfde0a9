// Command line parser, and the help texts, of a program with or without commands. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "base/status.h"

namespace fabric {

struct CommandSpec {
  std::string_view path;         // "probe run"
  std::string_view summary;      // One line
  std::string_view description;  // Sentences
  std::string_view example;      // One command line, without the prompt
  std::span<const Option> options;
};

struct ProgramSpec {
  std::string_view name;                  // "fabricctl"
  std::string_view summary;               // Sentences, for help
  std::span<const CommandSpec> commands;  // Empty: a program without commands
  std::span<const Option> options;        // Of every command
  bool once = false;                      // An option that is given twice is an error.
};

struct CommandLine {
  const CommandSpec* command = nullptr;  // nullptr: only with `help`, or without commands
  std::string group;                     // "probe" in "fabricctl probe --help"
  bool help = false;                     // --help, -h or the word "help"
  Values values;
};

// Options and operands may come in any order after the command, options of the program also before
// it; "--" ends the options. INVALID_ARGUMENT names the word, the expected value, and the closest
// name if there is one. After --help, errors are ignored.
Result<CommandLine> ParseCommandLine(const ProgramSpec& program,
                                     std::span<const std::string_view> words);

// Help of the program, a group of commands or a command: usage, commands, options.
std::string HelpText(const ProgramSpec& program, const CommandLine& line);

// "fabricctl node NAME [options]"
std::string Usage(std::string_view program, const CommandSpec& command);

// `text` in lines of at most 80 columns; `indent` blanks before each but the first.
std::string Wrapped(std::string_view text, std::size_t indent);

// Two columns, each row a name and its sentences, wrapped.
std::string HelpRows(const std::vector<std::pair<std::string, std::string>>& rows);
std::string OptionRows(std::span<const Option> options);
// "| `-o, --output table|wide` | Output format. Default: table. |" for each option, Markdown.
std::string OptionTable(std::span<const Option> options);

// The forms of DURATION, SIZE and HOST:PORT values: a paragraph for reference pages.
std::string_view ValueForms();

// "| a\|b |": the text in a cell of a Markdown table.
std::string MarkdownCell(std::string_view text);

}  // namespace fabric
