#include "daemon/api/rest/rest_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>

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
