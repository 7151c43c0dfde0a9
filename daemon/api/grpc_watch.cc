#include "daemon/api/grpc_watch.h"

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>

#include <memory>
#include <optional>
#include <utility>

#include "daemon/api/event_queue.h"
#include "daemon/api/grpc_status.h"

namespace fabric::api {
namespace {

const Status& Stopping() {
  static const Status status(Code::kUnavailable, "the controller is stopping");
  return status;
}

}  // namespace

// Locks: a publisher holds the bus's while it wakes us, so ours is never held when the queue is
// made or dropped.
class WatchService::Watcher final : public grpc::ServerWriteReactor<v1::Event> {
 public:
  Watcher(WatchService& service, grpc::CallbackServerContext& context)
      : service_(service), context_(context) {}

  void Begin(control::EventBus& events, std::uint64_t after_sequence) {
    StartSendInitialMetadata();  // So that the client knows that it is watching from now on.
    auto queue = std::make_unique<EventQueue>(events, after_sequence, [this] { Pump(); });
    {
      const MutexLock lock(mutex_);
      queue_ = std::move(queue);
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
    std::unique_ptr<EventQueue> queue;
    {
      const MutexLock lock(mutex_);
      queue.swap(queue_);
    }
    queue.reset();  // Waits for a publisher, who may be waiting for our lock.
    service_.Remove(this);
    delete this;
  }

 private:
  void Pump() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (finished_ || writing_ || queue_ == nullptr) return;
    if (!end_) {
      if (queue_->overflowed()) {
        EndLocked({Code::kResourceExhausted, "the watcher does not keep up with events"});
        return;
      }
      auto event = queue_->Pop();
      if (!event) return;
      event_ = *std::move(event);
      writing_ = true;
      StartWrite(&event_);
      return;
    }
    EndLocked(*end_);
  }

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
  v1::Event event_;  // Of the write in flight

  Mutex mutex_;
  std::unique_ptr<EventQueue> queue_ GUARDED_BY(mutex_);
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::optional<Status> end_ GUARDED_BY(mutex_);
};

WatchService::WatchService(control::EventBus& events) : events_(events) {
  AddMethod(new grpc::internal::RpcServiceMethod(
      "/fabric.v1.Fabric/WatchEvents", grpc::internal::RpcMethod::SERVER_STREAMING, nullptr));
  using Handler = grpc::internal::CallbackServerStreamingHandler<v1::WatchEventsRequest, v1::Event>;
  MarkMethodCallback(0, new Handler([this](grpc::CallbackServerContext* context,
                                           const v1::WatchEventsRequest* request) {
                       return Watch(context, *request);
                     }));
}

WatchService::~WatchService() {
  WaitUntilGone();
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
  if (stopped)
    watcher->End(Stopping());
  else
    watcher->Begin(events_, request.after_sequence());
  return watcher;
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
