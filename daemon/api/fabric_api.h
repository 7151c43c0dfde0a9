// Entry point of the public API, independent of transport. The gRPC and the REST front call
// Api::Call, which holds what all calls have in common (metrics).
#pragma once

#include <functional>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/api/call_metrics.h"
#include "daemon/api/metrics.h"
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

// How a front calls the API. Safe to call from any thread.
using CallFunction = std::function<Status(
    const CallContext&, const google::protobuf::MethodDescriptor&,
    const google::protobuf::Message& request, google::protobuf::Message& response)>;

// Thread-safe. The controller, the clock and the metrics are borrowed.
class Api {
 public:
  Api(control::Controller& controller, const Clock& clock, CallMetrics& metrics);

  // Passes the call to the controller and counts it. UNIMPLEMENTED without a handler.
  Status Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
              const google::protobuf::Message& request, google::protobuf::Message& response);

 private:
  control::Controller& controller_;
  const Clock& clock_;
  CallMetrics& metrics_;
};

// Collects the input of /metrics from the controller.
MetricsInput ReadMetrics(control::Controller& controller, const CallMetrics& calls);

}  // namespace fabric::api
