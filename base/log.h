// Logging to standard error. Only main.cc, loops and fronts may include this header; other code
// returns a Status.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "base/status.h"
#include "base/text.h"

namespace fabric::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Level and format by the settings of log_settings.h. Call once, from main.
void Init(std::string_view program, const Values& settings);

// Changes the level. Safe to call from any thread.
void SetLevel(Level level);

// "debug", "info", "warning" or "error"; INVALID_ARGUMENT otherwise.
Result<Level> ParseLevel(std::string_view text);

// Values that the line contains, for programs that read the log. Only the format json prints them.
struct Field {
  std::string_view name;
  std::string value;
};
using Fields = std::vector<Field>;

// Safe to call from any thread.
void Write(Level level, std::string_view line, const Fields& fields = {});

// A line for whoever started the program, on `file` as it is. With the format json it is a line of
// the log, so that all lines are objects.
void Plain(std::FILE* file, Level level, std::string_view line);

template <class... Args>
void Debug(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kDebug, Format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Info(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kInfo, Format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Warning(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kWarning, Format(format, std::forward<Args>(args)...));
}
template <class... Args>
void Error(fmt::format_string<Args...> format, Args&&... args) {
  Write(Level::kError, Format(format, std::forward<Args>(args)...));
}

}  // namespace fabric::log
