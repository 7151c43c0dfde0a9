// Scanner of one line, from left to right, and lines of a text. A failed match does not advance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
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
  // At a blank, or at the end of the line.
  bool AtWordEnd() const { return rest_.empty() || rest_.front() == ' ' || rest_.front() == '\t'; }
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

// The text that a terminal shows: without escape sequences (ESC [ ... letter), and without what a
// carriage return in the line goes back over.
inline std::string Shown(std::string_view line) {
  std::string shown;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\r') {
      shown.clear();
    } else if (line[at] == '\b') {
      if (!shown.empty()) shown.pop_back();
    } else if (line[at] != '\x1b') {
      shown += line[at];
    } else if (at + 1 < line.size() && line[at + 1] == '[') {
      at = std::min(line.find_first_not_of("0123456789;?", at + 2), line.size() - 1);
    }
  }
  return shown;
}

// Calls `line(number, text)` for each line, without its end, as a terminal shows it.
template <class Line>
void ForEachLine(std::string_view text, Line line) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = Trim(text.substr(0, end));
    if (raw.find_first_of("\r\b\x1b") == std::string_view::npos)
      line(number, raw);
    else
      line(number, Trim(std::string_view(Shown(raw))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace fabric::subnet
