// Entry point of the public API, independent of transport. The gRPC and the REST front call
// Api::Call, which holds what all calls have in common: identity, roles, audit log, metrics.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/access/caller.h"
#include "daemon/access/gate.h"
#include "daemon/api/call_metrics.h"
#include "daemon/api/metrics.h"
#include "daemon/control/controller.h"
#include "daemon/join/join_service.h"

namespace google::protobuf {
class Message;
class MethodDescriptor;
}  // namespace google::protobuf

namespace fabric::api {

// What a call says about its answer.
struct AnswerNotes {
  std::string warning = {};  // Why it can be out of date; empty: it is not
  // Of an answer by a controller that does not lead: since it has read the state.
  std::optional<std::chrono::seconds> state_age = {};
  std::string leader = {};  // URL of the REST listener of the controller that leads, if not this
};

struct CallContext {
  const access::Caller& caller;
  std::string_view transport;    // "grpc", "rest" or kRecheck
  AnswerNotes* notes = nullptr;  // nullptr: the caller does not show them.
};
// Whether a caller may still read a stream that it has. Not a call in the metrics.
inline constexpr std::string_view kRecheck = "recheck";

// How a front calls the API. Safe to call from any thread. For a method that streams, the call only
// checks whether the caller may; the front streams.
using CallFunction = std::function<Status(
    const CallContext&, const google::protobuf::MethodDescriptor&,
    const google::protobuf::Message& request, google::protobuf::Message& response)>;

// Thread-safe. All arguments are borrowed.
class Api {
 public:
  // `join`: null if joining is off.
  Api(control::Controller& controller, access::Gate& gate, const Clock& clock, CallMetrics& metrics,
      join::JoinService* join = nullptr);

  // Answers requests that are not the controller's. No value: the request is of another kind. Call
  // it before the first call.
  using Other = std::function<std::optional<Status>(
      const google::protobuf::Message& request, google::protobuf::Message& response, Moment now)>;
  void AnswerWith(Other other) { other_ = std::move(other); }

  // Checks the caller, passes the call to its handler, records and counts it. UNAUTHENTICATED and
  // PERMISSION_DENIED before anything else; UNIMPLEMENTED without a handler.
  Status Call(const CallContext& context, const google::protobuf::MethodDescriptor& method,
              const google::protobuf::Message& request, google::protobuf::Message& response);

 private:
  Status Admitted(const CallContext& context, const google::protobuf::MethodDescriptor& method,
                  const google::protobuf::Message& request, google::protobuf::Message& response,
                  Moment now);
  Status AnswerAnyone(const access::Caller& caller,
                      const google::protobuf::MethodDescriptor& method,
                      const google::protobuf::Message& request, google::protobuf::Message& response,
                      Moment now);
  Status Answer(const access::Caller& caller, access::Principal& principal,
                const google::protobuf::Message& request, google::protobuf::Message& response,
                Moment now);

  Status CompleteBackup(const v1::Backup& backup);

  control::Controller& controller_;
  access::Gate& gate_;
  const Clock& clock_;
  CallMetrics& metrics_;
  join::JoinService* const join_;
  Other other_;
};

// Collects the input of /metrics.
MetricsInput ReadMetrics(control::Controller& controller, const access::Gate& gate,
                         const CallMetrics& calls);

}  // namespace fabric::api
