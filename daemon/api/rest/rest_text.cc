#include "daemon/api/rest/rest_text.h"

#include <cstdint>

#include "base/text.h"
#include "base/utf8.h"

namespace fabric::api {

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

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  while (!text.empty()) {
    const Rune rune = FirstRune(text);
    const char c = text.front();
    if (!rune.valid)
      json += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      json += Format("\\u{:04x}", static_cast<unsigned>(c));
    else
      json += text.substr(0, rune.bytes);
    text.remove_prefix(rune.bytes);
  }
  return json + "\"";
}

std::string ErrorJson(const Status& status) {
  return Format("{{\"code\":{},\"message\":{},\"status\":\"{}\"}}", static_cast<int>(status.code()),
                JsonString(status.message()), CodeName(status.code()));
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
