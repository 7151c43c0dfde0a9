#include "agents/host/printable.h"

#include <cstddef>

#include "base/text.h"

namespace fabric::host {
namespace {

unsigned char Byte(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

bool IsContinuation(unsigned char byte) {
  return (byte & 0xc0) == 0x80;
}

// Length of the UTF-8 sequence of several bytes at `at`; 0 when it is none. Overlong forms,
// surrogates and what is above U+10FFFF are none.
std::size_t SequenceLength(std::string_view bytes, std::size_t at) {
  const unsigned char lead = Byte(bytes, at);
  const std::size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                             : lead >= 0xe0 && lead <= 0xef ? 3
                             : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                            : 0;
  if (length == 0 || bytes.size() - at < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!IsContinuation(Byte(bytes, at + i))) return 0;
  const unsigned char second = Byte(bytes, at + 1);
  if (lead == 0xe0 && second < 0xa0) return 0;
  if (lead == 0xed && second > 0x9f) return 0;
  if (lead == 0xf0 && second < 0x90) return 0;
  if (lead == 0xf4 && second > 0x8f) return 0;
  return length;
}

}  // namespace

bool IsText(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const unsigned char byte = Byte(bytes, at);
    if (byte < 0x80) {
      const bool blank = byte == '\t' || byte == '\n' || byte == '\r';
      if ((byte < 0x20 && !blank) || byte == 0x7f) return false;
      ++at;
      continue;
    }
    const std::size_t length = SequenceLength(bytes, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

Result<std::string> ParseAttribute(std::string_view bytes) {
  if (!IsText(bytes)) return Status(Code::kDataLoss, "expected text, saw " + Quoted(bytes));
  return std::string(bytes.substr(0, bytes.find_last_not_of(" \t\r\n") + 1));
}

}  // namespace fabric::host
