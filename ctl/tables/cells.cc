#include "ctl/tables/cells.h"

#include <algorithm>

#include "base/text.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the run of digits that `text` begins with, without leading zeros.
std::string_view TakeDigits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) ++length;
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  digits.remove_prefix(std::min(digits.size() - 1, digits.find_first_not_of('0')));
  return digits;
}

}  // namespace

std::string Cell(std::string_view text) {
  return std::string(text.empty() || text == "?" ? kAbsent : text);
}

std::string NumberCell(bool present, std::uint64_t number) {
  return present ? Format("{}", number) : std::string(kAbsent);
}

std::string RateCell(bool present, std::uint64_t bits_per_second) {
  return present ? BitRate(static_cast<double>(bits_per_second)) : std::string(kAbsent);
}

std::string Count(std::uint64_t count, std::string_view noun) {
  return Format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

bool NaturalLess(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view number_a = TakeDigits(a);
      const std::string_view number_b = TakeDigits(b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // Equal but for leading zeros.
}

}  // namespace fabric::ctl
