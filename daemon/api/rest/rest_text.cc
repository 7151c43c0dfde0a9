#include "daemon/api/rest/rest_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fabric::api {
namespace {

// Length of the well-formed UTF-8 sequence that `text` starts with, 0 when it is not one.
std::size_t Utf8Length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and what lies above U+10FFFF.
  if (lead == 0xe0 && at(1) < 0xa0) return 0;
  if (lead == 0xed && at(1) > 0x9f) return 0;
  if (lead == 0xf0 && at(1) < 0x90) return 0;
  if (lead == 0xf4 && at(1) > 0x8f) return 0;
  return length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Result<std::string> PercentDecode(std::string_view text, bool plus_is_blank) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      decoded += ' ';
    } else if (text[i] == '%') {
      const auto byte = ParseNumber<std::uint8_t>(text.substr(i + 1, 2), 16);
      if (text.size() < i + 3 || !byte.ok() || text[i + 2] == 'x')
        return Status(Code::kInvalidArgument, Format("expected %XX with two hexadecimal digits, "
                                                     "saw {}",
                                                     Quoted(text.substr(i, 3))));
      decoded += static_cast<char>(*byte);
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  if (!IsUtf8(decoded))
    return Status(Code::kInvalidArgument, Format("expected UTF-8, saw {}", Quoted(decoded)));
  return decoded;
}

std::string ErrorJson(const Status& status) {
  const nlohmann::ordered_json error = {{"code", static_cast<int>(status.code())},
                                        {"message", status.message()},
                                        {"status", CodeName(status.code())}};
  return error.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

int HttpStatus(Code code) {
  switch (code) {
    case Code::kOk: return 200;
    case Code::kInvalidArgument: return 400;
    case Code::kFailedPrecondition: return 400;
    case Code::kUnauthenticated: return 401;
    case Code::kPermissionDenied: return 403;
    case Code::kNotFound: return 404;
    case Code::kAlreadyExists: return 409;
    case Code::kResourceExhausted: return 429;
    case Code::kCancelled: return 499;
    case Code::kInternal: return 500;
    case Code::kDataLoss: return 500;
    case Code::kUnimplemented: return 501;
    case Code::kUnavailable: return 503;
    case Code::kDeadlineExceeded: return 504;
  }
  return 500;
}

}  // namespace fabric::api
