// The public API, independent of transport: one function for each rpc of service Fabric. The gRPC
// and the REST front call these directly through Api::Call, where what is common to all calls
// (metrics, later deadlines and authentication) is written once.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/api/call_metrics.h"
#include "daemon/control/controller.h"

namespace google::protobuf {
class Message;
class MethodDescriptor;
class ServiceDescriptor;
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

// Service Fabric as compiled in: what the fronts route and the reference page describes.
const google::protobuf::ServiceDescriptor& FabricService();

// How a front calls the API, whatever is behind it. Safe to call from any thread.
using CallFunction = std::function<Status(
    const CallContext&, const google::protobuf::MethodDescriptor&,
    const google::protobuf::Message& request, google::protobuf::Message& response)>;

// Safe to call from any thread. The controller, the clock and the metrics are borrowed.
class Api {
 public:
  Api(control::Controller& controller, const Clock& clock, CallMetrics& metrics);

  // Finds the handler, calls it and counts the call. UNIMPLEMENTED without a handler.
  Status Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
              const google::protobuf::Message& request, google::protobuf::Message& response);

 private:
  control::Controller& controller_;
  const Clock& clock_;
  CallMetrics& metrics_;
};

}  // namespace fabric::api
