#include "daemon/follower.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "daemon/access/policy.h"
#include "daemon/api/access_handlers.h"
#include "daemon/api/caught.h"
#include "daemon/control/agent_sink.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/store/postgres/postgres.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric {
namespace {

using namespace std::chrono_literals;

// A large state is read less often: the readings take at most a tenth of the time.
constexpr Duration kReadEvery = 5s;
constexpr Duration kReadAtLeastEvery = 30s;
constexpr int kPausePerReading = 9;

// Their answers come from the stored state alone. What nodes report, and rules judge, only the
// leader has.
bool IsStored(const google::protobuf::Descriptor& request) {
  for (const auto* const one :
       {v1::ListFindingsRequest::descriptor(), v1::GetFindingRequest::descriptor(),
        v1::ListSilencesRequest::descriptor(), v1::ListCampaignsRequest::descriptor(),
        v1::GetCampaignRequest::descriptor(), v1::ListCampaignResultsRequest::descriptor(),
        v1::ListCertificatesRequest::descriptor(), v1::GetCertificateRequest::descriptor(),
        v1::ListSchedulesRequest::descriptor(), v1::GetScheduleRequest::descriptor(),
        v1::ListNodeActionsRequest::descriptor()})
    if (one == &request) return true;
  return false;
}

}  // namespace

struct Follower::Copy {
  class NoAgents final : public control::AgentSink {
   public:
    void Send(SessionId, const v1::ControllerMessage&) override {}
    void Close(SessionId, const Status&) override {}
    bool MayOrder() const override { return false; }
  };

  Copy(std::unique_ptr<store::Store> the_store, const control::ControllerOptions& options,
       access::Gate& gate, const Clock& clock, api::CallMetrics& metrics, Moment now)
      : read_at(now.steady),
        store(std::move(the_store)),
        controller(options, *store, agents, events, now),
        api(controller, gate, clock, metrics) {}

  const SteadyTime read_at;  // Begin of the reading
  std::size_t calls = 0;     // That use it; under the lock of the follower
  const std::unique_ptr<store::Store> store;
  NoAgents agents;
  control::EventBus events{0};
  control::Controller controller;
  api::Api api;
};

Follower::Follower(const Leadership& leadership, control::ControllerOptions options,
                   access::Gate& gate, const Clock& clock)
    : leadership_(leadership),
      options_(std::move(options)),
      gate_(gate),
      clock_(clock),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

Follower::~Follower() {
  thread_.request_stop();
  thread_.join();
}

Result<std::unique_ptr<Follower::Copy>> Follower::Read() {
  const Moment now = clock_.Now();
  ASSIGN_OR_RETURN(std::unique_ptr<store::Store> store,
                   store::OpenPostgresToRead(leadership_.url()));
  auto copy = std::make_unique<Copy>(std::move(store), options_, gate_, clock_, calls_, now);
  RETURN_IF_ERROR(copy->controller.Load(now, control::Restoring::kToFollow));
  return copy;
}

void Follower::Note(const Status& status) {
  const MutexLock lock(mutex_);
  if (status.ok() && !failure_.ok())
    log::Info("the state is read again for answers of this standby");
  else if (!status.ok() && failure_.ok())
    log::Warning("this standby cannot read the state for its answers: {}", status.message());
  failure_ = status;
}

// Copies without calls end, without the lock.
void Follower::Replace(std::unique_ptr<Copy> copy) {
  std::vector<std::unique_ptr<Copy>> ended;
  const MutexLock lock(mutex_);
  for (std::unique_ptr<Copy>& one : copies_)
    if (one->calls == 0) ended.push_back(std::move(one));
  std::erase(copies_, nullptr);
  copies_.push_back(std::move(copy));
}

Follower::Copy* Follower::Take(Status& failure) {
  const MutexLock lock(mutex_);
  failure = failure_;
  if (copies_.empty()) return nullptr;
  ++copies_.back()->calls;
  return copies_.back().get();
}

void Follower::Give(Copy& copy) {
  const MutexLock lock(mutex_);
  --copy.calls;
}

void Follower::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const SteadyTime began = clock_.Now().steady;
    if (leadership_.standing() == Leadership::Standing::kStandby) {
      Note(api::Caught([&]() -> Status {
        ASSIGN_OR_RETURN(std::unique_ptr<Copy> read, Read());
        Replace(std::move(read));
        return {};
      }));
    }
    const Duration pause = std::clamp<Duration>(kPausePerReading * (clock_.Now().steady - began),
                                                kReadEvery, kReadAtLeastEvery);
    MutexLock lock(mutex_);
    wake_.wait_for(lock, stop, pause, [] { return false; });
  }
}

Status Follower::Refuse(const api::CallContext& context,
                        const google::protobuf::MethodDescriptor& method, std::string why) {
  // Only who may call learns who leads.
  RETURN_IF_ERROR(gate_.Admit(context.caller, access::NeedOf(method)).status());
  if (context.notes != nullptr) context.notes->leader = leadership_.LeaderPage();
  return {Code::kUnavailable, leadership_.Refusal().message() + why};
}

// Needs no state: an identity and its roles are those of this controller's own files.
Status Follower::Identify(const api::CallContext& context,
                          const google::protobuf::MethodDescriptor& method,
                          const google::protobuf::Message& request,
                          google::protobuf::Message& response) {
  ASSIGN_OR_RETURN(access::Principal principal,
                   gate_.Admit(context.caller, access::NeedOf(method)));
  RETURN_IF_ERROR(api::CallAccessHandler(
      *api::FindAccessHandler(*request.GetDescriptor()),
      {.audit = gate_.audit(), .join = nullptr, .caller = context.caller, .principal = principal},
      request, response, clock_.Now()));
  if (context.notes != nullptr)
    *context.notes = {.warning = leadership_.Refusal().message(),
                      .leader = leadership_.LeaderPage()};
  return {};
}

Status Follower::Call(const api::CallContext& context,
                      const google::protobuf::MethodDescriptor& method,
                      const google::protobuf::Message& request,
                      google::protobuf::Message& response) {
  if (request.GetDescriptor() == v1::GetIdentityRequest::descriptor())
    return Identify(context, method, request, response);
  if (!IsStored(*request.GetDescriptor())) return Refuse(context, method, "");
  Status failure;
  Copy* const copy = Take(failure);
  if (copy == nullptr)
    return Refuse(context, method,
                  failure.ok() ? "; it has not read the state yet"
                               : "; it cannot read the state: " + failure.message());
  Status status =
      api::Caught([&] { return Answer(*copy, failure, context, method, request, response); });
  Give(*copy);
  return status;
}

Status Follower::Answer(Copy& copy, const Status& failure, const api::CallContext& context,
                        const google::protobuf::MethodDescriptor& method,
                        const google::protobuf::Message& request,
                        google::protobuf::Message& response) {
  const Duration age = clock_.Now().steady - copy.read_at;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(age);
  if (age > kAgeMax)
    return Refuse(
        context, method,
        Format("; its copy of the state is {} s old, expected at most {} s{}", seconds.count(),
               kAgeMax / 1s, failure.ok() ? "" : ": " + failure.message()));
  Status status = copy.api.Call(context, method, request, response);
  // An error such as NOT_FOUND can be out of date, too. Only who may call learns who leads.
  const bool admitted =
      status.code() != Code::kUnauthenticated && status.code() != Code::kPermissionDenied;
  if (admitted && context.notes != nullptr)
    *context.notes = {.warning = Format("{}; this answer is from the stored state, read {} s ago",
                                        leadership_.Refusal().message(), seconds.count()),
                      .state_age = seconds,
                      .leader = leadership_.LeaderPage()};
  return status;
}

}  // namespace fabric
