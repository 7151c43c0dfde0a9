#include "daemon/api/grpc_watch.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>

#include <memory>
#include <optional>
#include <utility>

#include "daemon/api/caught.h"
#include "daemon/api/grpc_caller.h"
#include "daemon/api/grpc_status.h"
#include "proto/fabric_service.h"
#include "proto/kept_events.h"

namespace fabric::api {
namespace {

constexpr Duration kRecheckEvery = std::chrono::seconds(10);

// Whether the stream ends after the events that are kept.
bool WantsKeptOnly(const grpc::CallbackServerContext& context) {
  const auto entry = context.client_metadata().find(kEventsKey);
  return entry != context.client_metadata().end() && entry->second == kKeptEvents;
}

const Status& Stopping() {
  static const Status status(Code::kUnavailable, "the controller is stopping");
  return status;
}

}  // namespace

// Locks: the service's, then ours, then the bus's.
class WatchService::Watcher final : public grpc::ServerWriteReactor<v1::Event> {
 public:
  Watcher(WatchService& service, grpc::CallbackServerContext& context)
      : service_(service),
        context_(context),
        caller_(CallerOf(context)),
        kept_only_(WantsKeptOnly(context)),
        slot_(service.slots_.Take(context.peer())) {
    if (!kept_only_) return;
    // Also of calls that fail, so that the client knows that the controller is not older than it.
    context_.AddInitialMetadata(kEventsKey, kKeptEvents);
    StartSendInitialMetadata();
  }

  const access::Caller& caller() const { return caller_; }

  void Begin(const v1::WatchEventsRequest& request) {
    auto start = service_.events_.Start(request, SystemClock().Now());
    if (!slot_.ok() || !start.ok()) {
      End(slot_.ok() ? start.status() : slot_.status());
      return;
    }
    // So that the client knows that it is watching from now on.
    if (!kept_only_) StartSendInitialMetadata();
    {
      const MutexLock lock(mutex_);
      watch_ = *std::move(start);
    }
    Pump();
  }

  void End(const Status& status) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    EndLocked(status);
  }

  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      if (!ok && !end_) end_ = Status(Code::kUnavailable, "the watcher's connection broke");
    }
    Pump();
  }

  void OnCancel() override { End({Code::kCancelled, "the watcher went away"}); }

  void OnDone() override {
    service_.Remove(this);
    delete this;
  }

  // Writes the next event, if there is one and none is in flight.
  void Pump() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (finished_ || writing_ || !watch_) return;
    if (end_) {
      EndLocked(*end_);
      return;
    }
    auto next = service_.events_.Next(*watch_);
    if (next.more) service_.Wake();
    if (!next.event) {
      if (kept_only_ && !next.more) EndLocked({});
      return;
    }
    event_ = *std::move(next.event);
    writing_ = true;
    StartWrite(&event_);
  }

 private:
  void EndLocked(const Status& status) REQUIRES(mutex_) {
    if (finished_) return;
    if (!end_) end_ = status;
    if (writing_) {
      context_.TryCancel();
      return;
    }
    finished_ = true;
    Finish(ToGrpc(*end_));
  }

  WatchService& service_;
  grpc::CallbackServerContext& context_;
  const access::Caller caller_;
  const bool kept_only_;
  const Result<PeerSlot> slot_;
  v1::Event event_;  // Of the write in flight

  Mutex mutex_;
  std::optional<control::EventWatch> watch_ GUARDED_BY(mutex_);  // Once it has begun
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::optional<Status> end_ GUARDED_BY(mutex_);
};

WatchService::WatchService(CallFunction call, control::EventBus& events, PeerSlots& slots)
    : call_(std::move(call)), events_(events), slots_(slots) {
  AddMethod(new grpc::internal::RpcServiceMethod(
      "/fabric.v1.Fabric/WatchEvents", grpc::internal::RpcMethod::SERVER_STREAMING, nullptr));
  using Handler = grpc::internal::CallbackServerStreamingHandler<v1::WatchEventsRequest, v1::Event>;
  MarkMethodCallback(0, new Handler([this](grpc::CallbackServerContext* context,
                                           const v1::WatchEventsRequest* request) {
                       return Watch(context, *request);
                     }));
  events_.Subscribe(*this);
  pump_ = std::jthread([this](std::stop_token stop) { PumpAll(std::move(stop)); });
}

WatchService::~WatchService() {
  events_.Unsubscribe(*this);
  WaitUntilGone();
}

void WatchService::OnEvent(const v1::Event&) {
  Wake();
}

void WatchService::Wake() {
  {
    const MutexLock lock(wake_mutex_);
    if (std::exchange(published_, true)) return;
  }
  wake_.notify_one();
}

void WatchService::RecheckAll() {
  const MutexLock lock(mutex_);
  for (Watcher* const watcher : watchers_)
    if (const Status admitted = Admit(watcher->caller(), kRecheck); !admitted.ok())
      watcher->End(admitted);
}

void WatchService::PumpAll(std::stop_token stop) {
  SteadyTime checked_at = SystemClock().Now().steady;
  while (true) {
    {
      MutexLock lock(wake_mutex_);
      // Not for a duration: events would put the next check off.
      wake_.wait_until(lock, stop, checked_at + kRecheckEvery,
                       [&]() REQUIRES(wake_mutex_) { return published_; });
      if (stop.stop_requested()) return;
      published_ = false;
    }
    if (const SteadyTime now = SystemClock().Now().steady; now - checked_at >= kRecheckEvery) {
      checked_at = now;
      RecheckAll();
    }
    const MutexLock lock(mutex_);
    for (Watcher* const watcher : watchers_) watcher->Pump();
  }
}

grpc::ServerWriteReactor<v1::Event>* WatchService::Watch(grpc::CallbackServerContext* context,
                                                         const v1::WatchEventsRequest& request) {
  auto* const watcher = new Watcher(*this, *context);
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    watchers_.insert(watcher);
    stopped = stopped_;
  }
  const Status admitted = stopped ? Stopping() : Admit(watcher->caller(), "grpc");
  if (admitted.ok())
    watcher->Begin(request);
  else
    watcher->End(admitted);
  return watcher;
}

Status WatchService::Admit(const access::Caller& caller, std::string_view transport) const {
  v1::Event ignored;
  return Caught([&] {
    return call_({.caller = caller, .transport = transport},
                 *MethodOf(*v1::WatchEventsRequest::descriptor()), v1::WatchEventsRequest(),
                 ignored);
  });
}

void WatchService::Stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (Watcher* const watcher : watchers_) watcher->End(Stopping());
}

void WatchService::WaitUntilGone() {
  MutexLock lock(mutex_);
  all_gone_.wait(lock, [&]() REQUIRES(mutex_) { return watchers_.empty(); });
}

void WatchService::Remove(Watcher* watcher) {
  const MutexLock lock(mutex_);
  watchers_.erase(watcher);
  all_gone_.notify_all();
}

}  // namespace fabric::api
