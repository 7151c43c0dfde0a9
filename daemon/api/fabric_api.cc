#include "daemon/api/fabric_api.h"

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "daemon/api/access_handlers.h"
#include "daemon/api/caught.h"

namespace fabric::api {

Api::Api(control::Controller& controller, access::Gate& gate, const Clock& clock,
         CallMetrics& metrics)
    : controller_(controller), gate_(gate), clock_(clock), metrics_(metrics) {}

Status Api::Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                 const google::protobuf::Message& request, google::protobuf::Message& response) {
  const Moment begin = clock_.Now();
  const Status status = Caught([&] { return Admitted(context, method, request, response, begin); });
  metrics_.Count(
      {.method = method.name(), .transport = std::string(context.transport), .code = status.code()},
      clock_.Now().steady - begin.steady);
  return status;
}

Status Api::Admitted(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                     const google::protobuf::Message& request, google::protobuf::Message& response,
                     Moment now) {
  const access::Need need = access::NeedOf(method);
  ASSIGN_OR_RETURN(const access::Principal principal, gate_.Admit(context.caller, need, [&] {
    return access::Gate::SubjectOf(method, request, nullptr);
  }));
  if (method.server_streaming()) return {};
  if (!access::IsRecorded(need)) return Answer(principal, request, response, now);
  RETURN_IF_ERROR(gate_.BeforeChange());
  const Status status = Caught([&] { return Answer(principal, request, response, now); });
  const Status recorded = gate_.AfterChange(
      principal, context.caller, need,
      access::Gate::SubjectOf(method, request, status.ok() ? &response : nullptr), status);
  return status.ok() ? recorded : status;
}

Status Api::Answer(const access::Principal& principal, const google::protobuf::Message& request,
                   google::protobuf::Message& response, Moment now) {
  if (const AccessHandler* const handler = FindAccessHandler(*request.GetDescriptor()))
    return CallAccessHandler(*handler, {.audit = gate_.audit(), .identity = principal.identity},
                             request, response, now);
  if (other_)
    if (auto status = other_(request, response, now)) return *std::move(status);
  const auto signed_request = WithAuthor(principal.identity, request);
  return controller_.Call(signed_request == nullptr ? request : *signed_request, response, now);
}

MetricsInput ReadMetrics(control::Controller& controller, const access::Gate& gate,
                         const CallMetrics& calls) {
  MetricsInput input;
  input.fleet = controller.Numbers();
  input.rule_problems = controller.RuleProblems();
  input.calls = calls.Read();
  input.turns = controller.Turns();
  input.access = gate.counts();
  return input;
}

}  // namespace fabric::api
