// The public API, independent of transport: one function for each rpc of service Fabric. The gRPC
// and the REST front call these directly; what is common to all calls (deadline, metrics, later
// authentication) is written once, in Call().
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/controller.h"

namespace google::protobuf {
class Message;
class MethodDescriptor;
}  // namespace google::protobuf

namespace fabric::api {

struct CallContext {
  std::string_view peer;       // "127.0.0.1:40112"
  std::string_view transport;  // "grpc" or "rest"
};

// One unary rpc. `request` and `response` are of the types that service Fabric names for it.
struct Handler {
  std::string_view method;  // "ListNodes"
  Status (*call)(control::Controller&, Moment, const google::protobuf::Message& request,
                 google::protobuf::Message& response);
};

// One for each unary rpc of fabric.proto; a test fails when one is missing.
std::span<const Handler> Handlers();

}  // namespace fabric::api
