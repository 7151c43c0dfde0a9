// Settings of a program: one table row each. A value comes from the command line (--name VALUE),
// else from the YAML file that --config names (name: value), else from the row's default. Parser,
// bounds, --help, --print-config and the reference page all follow from the row.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric {

struct HostPort {
  std::string host;  // An IPv4 or IPv6 address (without brackets) or a name
  std::uint16_t port = 0;

  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// "127.0.0.1:9418", "[::1]:9418", "controller.example:9418"; port 0 to 65535.
Result<HostPort> ParseHostPort(std::string_view text);
std::string ToString(const HostPort& address);  // As ParseHostPort takes it

// "1s", "200ms", "1.5h"; units ns, us, ms, s, m, h. Never negative.
Result<Duration> ParseDuration(std::string_view text);
std::string ToString(Duration duration);  // The shortest that ParseDuration takes back exactly

enum class SettingType { kText, kAddress, kDuration, kNumber, kBool, kPath };

struct Setting {
  std::string_view name;  // "lost-after"; lower case with hyphens
  SettingType type = SettingType::kText;
  std::string_view fallback;  // As a user would write it; empty: not set (kBool: false)
  std::string_view min = {};  // Of kNumber and kDuration, as a user would write it; empty: none
  std::string_view max = {};
  std::string_view choices = {};  // Of kText: "debug|info"; empty: any
  std::string_view doc;           // One sentence
  bool required = false;          // Must be set when the program runs
};

// A table may have a row "config" of type kPath, which is taken on the command line only: the file
// that is read. These are understood beside the rows, and end the program early.
enum class Request { kRun, kHelp, kShowVersion, kPrintConfig };

// A value; safe to read from any thread once loaded.
class Settings {
 public:
  // `table` must outlive the object and its rows must be sound (tests load every table once).
  explicit Settings(std::span<const Setting> table);

  // Parses `args` (without the program's name) and the file that they name. INVALID_ARGUMENT, or
  // the error of reading the file: one line with the place, what was expected and what was seen.
  static Result<Settings> Load(std::span<const Setting> table, std::span<const char* const> args);

  // What Load is made of. `file` stands in messages; values of the command line are kept.
  Status ReadYaml(std::string_view yaml, std::string_view file);
  Status ReadArguments(std::span<const char* const> args);

  Request request() const { return request_; }

  bool Has(std::string_view name) const;  // Set, or has a default
  // The type must be that of the row. Empty text and paths, port 0 on an empty host, zero and false
  // stand for "not set".
  const std::string& Text(std::string_view name) const;  // kText and kPath
  const HostPort& Address(std::string_view name) const;
  fabric::Duration Duration(std::string_view name) const;
  std::int64_t Number(std::string_view name) const;
  bool Bool(std::string_view name) const;

  // Every setting as YAML that ReadYaml takes back, each with its sentence and where it comes from.
  std::string Print() const;

 private:
  enum class Origin { kDefault, kFile, kCommandLine };
  using Value = std::variant<std::string, HostPort, fabric::Duration, std::int64_t, bool>;
  struct Entry {
    const Setting* row = nullptr;
    std::string text;  // As written
    Value value;
    Origin origin = Origin::kDefault;
  };

  static Result<Value> Parse(const Setting& row, std::string_view text);
  Result<Entry*> Find(std::string_view name);
  const Entry& At(std::string_view name) const;
  Status Set(Entry& entry, std::string_view text, Origin origin);
  Status CheckRequired() const;

  std::vector<Entry> entries_;  // In the table's order
  Request request_ = Request::kRun;
};

// "ADDR:PORT", "DURATION", ...: what a value looks like, for help and messages.
std::string_view TypeName(SettingType type);

// The text of --help below the program's own first lines.
std::string SettingsHelp(std::span<const Setting> table);

// The section of the reference page on these settings, Markdown.
std::string SettingsReference(std::string_view program, std::span<const Setting> table);

}  // namespace fabric
