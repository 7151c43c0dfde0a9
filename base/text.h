// Small text helpers. The only place that knows which formatting library is used.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric {

template <class... Args>
std::string Format(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

// Splits at every separator; "a,,b" has three parts, "" has one.
std::vector<std::string_view> Split(std::string_view text, char separator);

// Splits at runs of blanks, tabs and newlines; no empty parts.
std::vector<std::string_view> Words(std::string_view text);

std::string_view Trim(std::string_view text);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);

// The text in single quotes, fit for a message: at most 60 bytes, what cannot be printed escaped.
std::string Quoted(std::string_view text);

// The whole of `text` as a number; a leading "0x" is taken when base is 16. INVALID_ARGUMENT
// otherwise, with what was seen.
template <std::integral T>
Result<T> ParseNumber(std::string_view text, int base = 10) {
  std::string_view digits = text;
  if (base == 16 && digits.starts_with("0x")) digits.remove_prefix(2);
  T value{};
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc() || at != end)
    return Status(Code::kInvalidArgument, "expected a number, saw " + Quoted(text));
  return value;
}

// The candidate that `word` most likely meant, or empty: for "did you mean".
std::string_view Closest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace fabric
