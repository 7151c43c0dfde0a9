#include "daemon/api/fabric_api.h"

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "daemon/api/access_handlers.h"
#include "daemon/api/caught.h"
#include "daemon/api/request_parts.h"
#include "daemon/store/recovery.h"

namespace fabric::api {

Api::Api(control::Controller& controller, access::Gate& gate, const Clock& clock,
         CallMetrics& metrics, join::JoinService* join)
    : controller_(controller), gate_(gate), clock_(clock), metrics_(metrics), join_(join) {}

Status Api::Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                 const google::protobuf::Message& request, google::protobuf::Message& response) {
  const Moment begin = clock_.Now();
  const Status status = Caught([&] { return Admitted(context, method, request, response, begin); });
  if (context.transport == kRecheck) return status;
  metrics_.Count(
      {.method = method.name(), .transport = std::string(context.transport), .code = status.code()},
      clock_.Now().steady - begin.steady);
  return status;
}

Status Api::Admitted(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                     const google::protobuf::Message& request, google::protobuf::Message& response,
                     Moment now) {
  if (access::IsForAnyone(method))
    return AnswerAnyone(context.caller, method, request, response, now);
  const access::Need need = access::NeedOf(method);
  ASSIGN_OR_RETURN(
      access::Principal principal,
      gate_.Admit(
          context.caller, need, [&] { return access::Gate::SubjectOf(method, request, nullptr); },
          [&] { return PartsOf(controller_, request, now); }));
  if (context.transport == kRecheck) return {};
  ASSIGN_OR_RETURN(access::RunningCall running, gate_.Begin(principal));
  if (method.server_streaming()) return {};
  if (!access::IsRecorded(need)) {
    const Status status = Answer(context.caller, principal, request, response, now);
    if (status.ok() && running.CountsBytes()) running.Answered(response.ByteSizeLong());
    return status;
  }
  RETURN_IF_ERROR(gate_.BeforeChange());
  const Status status =
      Caught([&] { return Answer(context.caller, principal, request, response, now); });
  const Status recorded = gate_.AfterChange(
      principal, context.caller, need,
      access::Gate::SubjectOf(method, request, status.ok() ? &response : nullptr), status);
  return status.ok() ? recorded : status;
}

// The secret in the request proves who the caller is, so that it is recorded once it is answered.
Status Api::AnswerAnyone(const access::Caller& caller,
                         const google::protobuf::MethodDescriptor& method,
                         const google::protobuf::Message& request,
                         google::protobuf::Message& response, Moment now) {
  const access::Need need{.what = method.name(), .any_of = {}};
  RETURN_IF_ERROR(gate_.BeforeChange());
  access::Principal principal;
  const Status status = Caught([&] { return Answer(caller, principal, request, response, now); });
  const auto subject = [&] { return access::Gate::SubjectOf(method, request, nullptr); };
  if (status.code() == Code::kUnauthenticated || status.code() == Code::kPermissionDenied)
    return gate_.Refuse(caller, nullptr, need, subject(), status);
  if (principal.identity.name().empty()) return status;
  const Status recorded = gate_.AfterChange(principal, caller, need, subject(), status);
  return status.ok() ? recorded : status;
}

Status Api::Answer(const access::Caller& caller, access::Principal& principal,
                   const google::protobuf::Message& request, google::protobuf::Message& response,
                   Moment now) {
  const auto signed_request = WithAuthor(principal.identity, request);
  const google::protobuf::Message& asked = signed_request == nullptr ? request : *signed_request;
  if (const AccessHandler* const handler = FindAccessHandler(*request.GetDescriptor()))
    return CallAccessHandler(
        *handler, {.audit = gate_.audit(), .join = join_, .caller = caller, .principal = principal},
        asked, response, now);
  if (other_)
    if (auto status = other_(asked, response, now)) return *std::move(status);
  const Status status = controller_.Call(asked, response, now);
  if (!status.ok() || response.GetDescriptor() != v1::Backup::descriptor()) return status;
  return CompleteBackup(static_cast<const v1::Backup&>(response));
}

// The files next to the state file.
Status Api::CompleteBackup(const v1::Backup& backup) {
  const auto named = [](const Status& status) {
    return status.In("the state is copied, but not the files next to it");
  };
  RETURN_IF_ERROR(named(gate_.audit().BackUp(backup.path() + std::string(store::kAuditSuffix))));
  if (join_ == nullptr) return {};
  return named(join_->registry().BackUp(backup.path() + std::string(store::kJoinSuffix)));
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
