#include "base/wrong_port.h"

namespace fabric {

std::string_view WrongPortCause(std::string_view grpc_message) {
  for (const std::string_view sign : {"http1.x server", "ALPN"})
    if (grpc_message.find(sign) != grpc_message.npos)
      return "this is a port of HTTP, as of REST (9419); expected the port of gRPC (9418)";
  return {};
}

}  // namespace fabric
