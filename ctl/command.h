// Commands of fabricctl. A command is a stateless value: a path, sentences, a table of options and
// a function. It returns what there is to say, and one renderer prints it in the format that
// --output names. The parser, the help texts and docs/reference/CLI.md are made from the same
// tables.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/options.h"
#include "base/status.h"

namespace fabric::ctl {

class Client;
using Arguments = Values;

// Rows under titled columns. Every row has as many cells as there are columns. A cell is "-" for
// what is absent, never empty.
struct Table {
  struct Column {
    std::string title;
    bool wide_only = false;
    bool right_aligned = false;  // Numbers
    bool coloured = false;       // Words of state and severity: see render.cc.
    std::size_t width_min = 0;   // For streams, whose later rows are not known yet.
  };
  std::string title;  // A line above the columns; none when empty.
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::string empty_note;  // Instead of columns without rows: "no findings". On standard error.
  bool wide_only = false;
};

// Exit statuses; documented in help texts and in the reference.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFindings = 1;  // Findings, or failed probes.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;  // Cannot reach the controller, or timed out.
inline constexpr int kExitNotAllowed = 4;
inline constexpr int kExitError = 5;    // Anything else; said on standard error.
inline constexpr int kExitUnknown = 6;  // A certificate: it could not be told.

// What a command has to say. json and yaml print the message; table and wide the lines and the
// tables; name the names.
struct Output {
  std::vector<Table> tables;
  std::unique_ptr<google::protobuf::Message> message;  // nullptr: the command has printed it.
  std::vector<std::string> names;  // One for each thing, fit to be given to another command.
  std::string before;              // Lines above the tables, each with its newline.
  std::string after;               // Lines below them.
  int exit_status = kExitOk;
};

// The world of a command that goes on.
class Stream {
 public:
  virtual ~Stream() = default;
  // Prints as it goes: rows without column titles, messages on one line. False when printing failed
  // and the command should end.
  virtual bool Print(const Output& output) = 0;
  // Prints text as it stands, for what is too large to be held at once. False as above.
  virtual bool Write(std::string_view text) = 0;
  // Replaces the line of progress; shown only when standard error is a terminal. Empty removes it.
  virtual void Progress(std::string_view line) = 0;
  // Waits. False when the person at the keyboard wants an end.
  virtual bool Wait(Duration duration) = 0;
};

struct Command {
  std::string_view path;         // "probe run"
  std::string_view summary;      // One line, for help and for the generated reference.
  std::string_view description;  // What the columns mean and when it fails; sentences.
  std::string_view example;      // One command line, without the prompt.
  std::span<const Option> options;
  Result<Output> (*run)(Client& client, const Arguments& arguments, Stream& stream);
  bool offline = false;  // Works without a controller.
};

std::span<const Command* const> AllCommands();  // Generated; see commands/CMakeLists.txt.

}  // namespace fabric::ctl
