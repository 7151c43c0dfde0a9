#include "base/wrong_port.h"

#include <cctype>

namespace fabric {

std::string_view WrongPortCause(std::string_view grpc_message) {
  for (const std::string_view sign : {"http1.x server", "ALPN"})
    if (grpc_message.find(sign) != grpc_message.npos)
      return "this is a port of HTTP, as of REST (9419); expected the port of gRPC (9418)";
  return {};
}

std::string ConnectionCause(const std::string& grpc_message) {
  if (const std::string_view cause = WrongPortCause(grpc_message); !cause.empty())
    return std::string(cause);
  const std::size_t colon = grpc_message.rfind(": ");
  std::string cause = colon == std::string::npos ? grpc_message : grpc_message.substr(colon + 2);
  if (cause.size() > 1 && std::islower(static_cast<unsigned char>(cause[1])) != 0)
    cause[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(cause[0])));
  return cause.empty() ? "no reason given" : cause;
}

bool IsConnectionFailure(std::string_view grpc_message) {
  return !WrongPortCause(grpc_message).empty() ||
         grpc_message.find("last error: ") != grpc_message.npos ||
         grpc_message.starts_with("DNS resolution failed");
}

}  // namespace fabric
