#include "daemon/api/fabric_api.h"

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <string>

#include "daemon/api/caught.h"

namespace fabric::api {

Api::Api(control::Controller& controller, const Clock& clock, CallMetrics& metrics)
    : controller_(controller), clock_(clock), metrics_(metrics) {}

Status Api::Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                 const google::protobuf::Message& request, google::protobuf::Message& response) {
  const Moment begin = clock_.Now();
  const Status status = Caught([&] { return controller_.Call(request, response, begin); });
  metrics_.Count(
      {.method = method.name(), .transport = std::string(context.transport), .code = status.code()},
      clock_.Now().steady - begin.steady);
  return status;
}

MetricsInput ReadMetrics(control::Controller& controller, const CallMetrics& calls) {
  MetricsInput input;
  input.fleet = controller.Numbers();
  input.rule_problems = controller.RuleProblems();
  input.calls = calls.Read();
  return input;
}

}  // namespace fabric::api
