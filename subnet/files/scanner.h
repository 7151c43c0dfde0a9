// Scanner of one line, from left to right, and lines of a text. A failed match does not advance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace fabric::subnet {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }

  bool Eat(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void Blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  // With or without "0x".
  std::optional<std::uint64_t> Hex() {
    const std::string_view before = rest_;
    Eat("0x");
    const auto number = Digits<std::uint64_t>("0123456789abcdefABCDEF", 16);
    if (!number) rest_ = before;
    return number;
  }
  std::optional<std::uint32_t> Decimal() { return Digits<std::uint32_t>("0123456789", 10); }

  // The text behind the first `word`, if the line has it.
  static std::optional<Scanner> After(std::string_view text, std::string_view word) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) return std::nullopt;
    return Scanner(text.substr(at + word.size()));
  }

 private:
  template <class Number>
  std::optional<Number> Digits(std::string_view letters, int base) {
    const std::size_t end = std::min(rest_.find_first_not_of(letters), rest_.size());
    const auto number = ParseNumber<Number>(rest_.substr(0, end), base);
    if (!number.ok()) return std::nullopt;
    rest_.remove_prefix(end);
    return *number;
  }

  std::string_view rest_;
};

// Calls `line(number, text)` for each line, without its end.
template <class Line>
void ForEachLine(std::string_view text, Line line) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    line(number, Trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace fabric::subnet
