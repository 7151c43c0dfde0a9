#include "agents/host/printable.h"

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace fabric::host {

bool IsText(std::string_view bytes) {
  const auto is_control = [](unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
  };
  return std::none_of(bytes.begin(), bytes.end(), is_control) && IsUtf8(bytes);
}

Result<std::string> ParseAttribute(std::string_view bytes) {
  if (!IsText(bytes)) return Status(Code::kDataLoss, "expected text, saw " + Quoted(bytes));
  return std::string(bytes.substr(0, bytes.find_last_not_of(" \t\r\n") + 1));
}

}  // namespace fabric::host
