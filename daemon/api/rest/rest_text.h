// The text forms that REST is made of: percent-encoding, UTF-8, JSON of errors. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::api {

// "a%2Fb" is "a/b"; with `plus_is_blank`, as in queries, "a+b" is "a b". INVALID_ARGUMENT for
// broken escapes and for what is not UTF-8 afterwards.
Result<std::string> PercentDecode(std::string_view text, bool plus_is_blank);

// The text as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string JsonString(std::string_view text);

// {"code":5,"message":"...","status":"NOT_FOUND"}
std::string ErrorJson(const Status& status);

// 404 for NOT_FOUND and so on.
int HttpStatus(Code code);

}  // namespace fabric::api
