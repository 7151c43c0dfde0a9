// Errors of gRPC clients that reach a port of another protocol. Pure.
#pragma once

#include <string_view>

namespace fabric {

// What a message of gRPC means if the server speaks HTTP/1 or does not offer HTTP/2. Empty: the
// message has another cause.
std::string_view WrongPortCause(std::string_view grpc_message);

}  // namespace fabric
