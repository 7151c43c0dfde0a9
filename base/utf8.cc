#include "base/utf8.h"

#include <algorithm>
#include <array>

namespace fabric {

Rune FirstRune(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes, true};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.bytes);
  }
  return true;
}

std::string_view Utf8Prefix(std::string_view text, std::size_t bytes_max) {
  std::size_t end = std::min(text.size(), bytes_max);
  while (end > 0 && end < text.size() && (text[end] & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

}  // namespace fabric
