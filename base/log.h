// Logging to standard error. Only main.cc, loops and fronts may include this header; other code
// returns a Status.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/text.h"

namespace fabric::log {

enum class Level { kDebug, kInfo, kWarning, kError };

// Drops lines below `level`. Each line starts with `program`. Call once, from main.
void Init(std::string_view program, Level level);

// Changes the level. Safe to call from any thread.
void SetLevel(Level level);

// "debug", "info", "warning" or "error"; INVALID_ARGUMENT otherwise.
Result<Level> ParseLevel(std::string_view text);

// Safe to call from any thread.
void Write(Level level, std::string_view line);

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
