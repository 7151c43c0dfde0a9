// Text helpers, and the only header that includes the formatting library.
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

// The text in single quotes for a message: at most 60 bytes, unprintable bytes escaped.
std::string Quoted(std::string_view text);

// Parses the whole text as a number; base 16 accepts a leading "0x". INVALID_ARGUMENT otherwise,
// with the text.
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

}  // namespace fabric
