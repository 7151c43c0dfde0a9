// Errors of gRPC clients that cannot connect, or that reach a port of another protocol. Pure.
#pragma once

#include <string>
#include <string_view>

namespace fabric {

// What a message of gRPC means if the server speaks HTTP/1 or does not offer HTTP/2. Empty: the
// message has another cause.
std::string_view WrongPortCause(std::string_view grpc_message);

// The last part of a message such as "failed to connect to all addresses; last error: UNKNOWN:
// ipv4:127.0.0.1:9: Failed to connect to remote host: Connection refused", or the wrong port.
std::string ConnectionCause(const std::string& grpc_message);
// Whether it is such a message.
bool IsConnectionFailure(std::string_view grpc_message);

}  // namespace fabric
