// Commands of fabricctl. A command is a stateless value; it returns what there is to say, and one
// renderer prints it in the format that --output names.
#pragma once

#include <any>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace CLI {
class App;
}
namespace google::protobuf {
class Message;
}

namespace fabric::ctl {

class Client;

// Rows under titled columns, and the message they were made from: json and yaml print the message,
// table and wide the rows, name the first column.
struct Table {
  struct Column {
    std::string title;
    bool wide_only = false;
    bool right_aligned = false;  // Numbers
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

// Exit statuses; documented in the manual page and in README.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFindings = 1;     // Findings, or failed probes.
inline constexpr int kExitUsage = 2;
inline constexpr int kExitUnreachable = 3;  // Cannot reach the controller, or timed out.
inline constexpr int kExitNotAllowed = 4;
inline constexpr int kExitError = 5;        // Anything else; said on standard error.

struct Output {
  Table table;
  std::unique_ptr<google::protobuf::Message> message;
  std::string before;  // Lines above the table, for people only (table, wide).
  std::string after;   // Lines below it.
  int exit_status = kExitOk;
};

// Where a command that goes on (watching) prints as it goes. Returns false when printing failed and
// the command should end.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual bool Print(const Output& output) = 0;
};

struct Command {
  std::string_view path;     // "probe run"
  std::string_view summary;  // One line, for help and for the generated reference.
  std::string_view example;  // One command line, without the prompt.
  // Adds options to the subcommand; values are kept in the returned object until run.
  std::any (*configure)(CLI::App& app);
  Result<Output> (*run)(Client& client, const std::any& arguments, Stream& stream);
};

std::span<const Command* const> AllCommands();  // Generated; see commands/CMakeLists.txt.

}  // namespace fabric::ctl
