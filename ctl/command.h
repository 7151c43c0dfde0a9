// Commands of fabricctl. A command is a stateless value: a path, help texts, a table of options and
// a function. The function returns tables and a message; one renderer prints them in the format of
// --output. The parser, the help and docs/reference/CLI.md use the same tables.
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

// Rows under titled columns. Each row has one cell per column. An absent value is
// "-", never empty.
struct Table {
  struct Column {
    std::string title;
    bool wide_only = false;
    bool right_aligned = false;  // Numbers
    bool coloured = false;       // Words of state and severity: see render.cc.
    std::size_t width_min = 0;   // For streams, where later rows are unknown
    bool elastic = false;        // A sentence: cut where the terminal is too narrow.
    std::size_t cut_min = 16;    // An elastic column is not cut below this width.
    std::size_t cut_late = 0;    // Not cut below this width while other columns can be left out.
    bool main = false;           // Elastic, and keeps two fifths of the terminal if possible.
    int drop = 0;                // Left out where the terminal is too narrow, 1 first. 0: never
    bool tight = false;          // No gap between this column and the one before it
  };
  std::string title;  // A line above the columns; none when empty.
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::string empty_note;  // Replaces an empty table: "No findings." On standard error
  bool wide_only = false;
  bool in_table_only = false;  // A part of a later table, which the format wide and csv have.
};

// Exit statuses; help.cc documents them.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFindings = 1;  // Findings, or failed probes.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;  // Cannot reach the controller, or timed out.
inline constexpr int kExitNotAllowed = 4;
inline constexpr int kExitError = 5;          // Any other error
inline constexpr int kExitUnknown = 6;        // The verdict is UNKNOWN
inline constexpr int kExitInterrupted = 130;  // As a shell reports SIGINT

// Output of a command. json and yaml print the message, jsonl its elements, table and wide print
// the lines and tables, csv the tables, name prints the names.
struct Output {
  std::vector<Table> tables;
  std::unique_ptr<google::protobuf::Message> message;  // nullptr: the command has printed it.
  std::vector<std::string> names;  // One for each object, usable as an argument of other commands
  std::string before;              // Lines above the tables, each with its newline.
  std::string after;               // Lines below them.
  int exit_status = kExitOk;
  // Parts that failed while others were done: lines on standard error. The first one determines the
  // exit status.
  std::vector<Status> failures = {};
};

// Output while a command runs.
class Stream {
 public:
  virtual ~Stream() = default;
  // Prints at once: rows without column titles, messages on one line. False if printing failed and
  // the command must end.
  virtual bool Print(const Output& output) = 0;
  // Prints text unchanged, for output that does not fit into memory. False as above.
  virtual bool Write(std::string_view text) = 0;
  // Replaces the progress line, which only a terminal shows. An empty line removes it.
  virtual void Progress(std::string_view line) = 0;
  // Before a call whose effect goes on without the command: from now on an interrupt (SIGINT,
  // SIGTERM, SIGHUP) ends the next wait in place of the program.
  virtual void CatchInterrupts() = 0;
  // Waits, and catches interrupts. False if interrupted.
  virtual bool Wait(Duration duration) = 0;
  virtual WallTime Now() const = 0;
  // Of the terminal, for tables that choose their rows by it. 0: no limit
  virtual std::size_t Columns() const = 0;
};

struct Command {
  std::string_view path;         // "probe run"
  std::string_view summary;      // One line, for help and for the generated reference.
  std::string_view description;  // Meaning of the columns, and exit statuses
  std::string_view example;      // Two command lines or more, each on a line, without the prompt
  std::span<const Option> options;
  Result<Output> (*run)(Client& client, const Arguments& arguments, Stream& stream);
  bool offline = false;  // Works without a controller.
  bool watch = false;    // Only reads, so that --watch can repeat it.
  // Replaces `options` where a part of them follows from the schema.
  std::span<const Option> (*schema_options)() = nullptr;
};

std::span<const Command* const> AllCommands();  // Generated; see commands/CMakeLists.txt.

}  // namespace fabric::ctl
