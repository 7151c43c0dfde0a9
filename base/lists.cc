#include "base/lists.h"

#include <algorithm>

#include "base/text.h"

namespace fabric {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Removes the run of digits at the front of `text` and returns it without leading zeros.
std::string_view TakeDigits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && IsDigit(text[length])) ++length;
  std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  digits.remove_prefix(std::min(digits.size() - 1, digits.find_first_not_of('0')));
  return digits;
}

}  // namespace

std::string ListSome(const std::vector<std::string>& items, std::size_t shown, std::size_t all,
                     std::string_view separator) {
  shown = std::min(shown, items.size());
  std::string text =
      Join({items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown)}, separator);
  if (all > shown) text += Format(" and {} more", all - shown);
  return text;
}

std::string ListSome(const std::vector<std::string>& items, std::size_t shown,
                     std::string_view separator) {
  return ListSome(items, shown, items.size(), separator);
}

std::string Plural(std::uint64_t count, std::string_view noun) {
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
  return whole_a < whole_b;  // Equal except for leading zeros
}

}  // namespace fabric
