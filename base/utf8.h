// UTF-8 decoder and validator (RFC 3629). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fabric {

struct Rune {
  std::uint32_t code = 0;  // 0 when invalid
  std::size_t bytes = 1;   // 1 when invalid
  bool valid = false;
};

// Decodes the first character of a text that is not empty. Overlong forms, surrogates, code points
// above U+10FFFF and incomplete sequences are invalid.
Rune FirstRune(std::string_view text);

bool IsUtf8(std::string_view text);

// The longest beginning of `text` that has at most `bytes_max` bytes and ends between characters.
std::string_view Utf8Prefix(std::string_view text, std::size_t bytes_max);

}  // namespace fabric
