// Settings of a daemon. A value comes from the command line (--name VALUE), else from the YAML file
// of --config (name: value), else from the default of its row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/options.h"
#include "base/status.h"

namespace fabric {

// Options that every table of settings has besides its rows. All but kRun end the program early.
enum class Request { kRun, kHelp, kShowVersion, kPrintConfig };

// A table may have a row "config" of type kPath, the file to read, and a row "restore". Both are
// accepted on the command line only.
class Settings : public Values {
 public:
  explicit Settings(std::span<const Option> table) : Values(table) {}

  // Parses `args` (without the program's name) and the file that they name. INVALID_ARGUMENT, or
  // the error of reading the file: one line with the place, the expected value and the value seen.
  static Result<Settings> Load(std::span<const Option> table, std::span<const char* const> args);

  // The parts of Load. Messages name `file`; values of the command line are kept.
  Status ReadYaml(std::string_view yaml, std::string_view file);
  Status ReadArguments(std::span<const char* const> args);

  Request request() const { return request_; }

  // Every setting as YAML that ReadYaml accepts, each with its sentence and its origin.
  std::string Print() const;

 private:
  Status CheckRequired() const;

  Request request_ = Request::kRun;
};

// The text of --help of the program, such as "fabricd".
std::string SettingsHelp(std::string_view program, std::string_view summary,
                         std::span<const Option> table);

// The section of the reference page about these settings, Markdown.
std::string SettingsReference(std::string_view program, std::span<const Option> table);

}  // namespace fabric
