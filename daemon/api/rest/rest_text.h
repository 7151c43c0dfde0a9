// Text forms of REST: percent-encoding, JSON of errors, event streams. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric::api {

// "a%2Fb" is "a/b"; with `plus_is_blank`, as in queries, "a+b" is "a b". INVALID_ARGUMENT for
// invalid escapes and for a result that is not UTF-8.
Result<std::string> PercentDecode(std::string_view text, bool plus_is_blank);

// {"code":5,"message":"...","status":"NOT_FOUND"}. Bytes that are not UTF-8 become U+FFFD.
std::string ErrorJson(const Status& status);

// 404 for NOT_FOUND and so on.
int HttpStatus(Code code);

// Head of an event stream, and the comment that keeps it open.
inline constexpr std::string_view kEventStreamHead =
    "HTTP/1.1 200 OK\r\n"
    "Server: fabricd\r\n"
    "Content-Type: text/event-stream\r\n"
    "Cache-Control: no-store\r\n"
    "X-Accel-Buffering: no\r\n"
    "Connection: close\r\n"
    "\r\n"
    "retry: 1000\n\n";
inline constexpr std::string_view kHeartbeat = ": heartbeat\n\n";

}  // namespace fabric::api
