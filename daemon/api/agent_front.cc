#include "daemon/api/agent_front.h"

#include <deque>
#include <optional>
#include <utility>

#include "daemon/api/grpc_status.h"

namespace fabric::api {

// gRPC's rules: one read and one write in flight, exactly one Finish, and OnDone comes last, when
// nothing is in flight. Locks: the front's may be held when ours is taken, never the other way.
class AgentFront::Stream final
    : public grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
 public:
  Stream(AgentFront& front, grpc::CallbackServerContext& context, SessionId id)
      : front_(front), context_(context), id_(id) {}

  void Begin() { StartRead(&incoming_); }

  void Send(const v1::ControllerMessage& message) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (end_) return;
    if (outgoing_.size() >= kQueuedMax) {
      CutLocked({Code::kResourceExhausted, "the agent does not read what it is sent"});
      return;
    }
    outgoing_.push_back(message);
    PumpLocked();
  }

  // After the queued messages.
  void Close(const Status& status) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    CloseLocked(status);
  }

  // At once; messages in flight are lost.
  void Cut(const Status& status) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    CutLocked(status);
  }

  void OnReadDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      if (end_) return;  // What a closed session still says is not heard.
      if (!ok) {
        gone_reason_ = "the agent ended the connection";
        CutLocked(Status());
        return;
      }
    }
    const Status status = front_.listener_.on_message(id_, incoming_);
    if (!status.ok()) {
      const MutexLock lock(mutex_);
      if (gone_reason_.empty()) gone_reason_ = status.message();
      CloseLocked(status);
      return;
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (!ok) {
      outgoing_.clear();
      if (!end_) end_ = Status(Code::kUnavailable, "the agent's connection broke");
    }
    PumpLocked();
  }

  void OnCancel() override {
    const MutexLock lock(mutex_);
    if (gone_reason_.empty() && !end_) gone_reason_ = "the agent's connection broke";
    if (!end_) end_ = Status(Code::kCancelled, "the agent's connection broke");
    PumpLocked();
  }

  void OnDone() override {
    front_.listener_.on_gone(id_, GoneReason());
    front_.Remove(id_);
    delete this;
  }

 private:
  std::string GoneReason() {
    const MutexLock lock(mutex_);
    if (!gone_reason_.empty()) return gone_reason_;
    return end_ ? end_->message() : "";
  }

  void CloseLocked(const Status& status) REQUIRES(mutex_) {
    if (end_) return;
    end_ = status;
    PumpLocked();
  }

  void CutLocked(const Status& status) REQUIRES(mutex_) {
    if (!end_) end_ = status;
    while (outgoing_.size() > (writing_ ? 1 : 0)) outgoing_.pop_back();
    if (writing_) context_.TryCancel();  // Ends the write; the status stays ours to say.
    PumpLocked();
  }

  void PumpLocked() REQUIRES(mutex_) {
    if (writing_ || finished_) return;
    if (!outgoing_.empty()) {
      writing_ = true;
      StartWrite(&outgoing_.front());
    } else if (end_) {
      finished_ = true;
      Finish(ToGrpc(*end_));
    }
  }

  AgentFront& front_;
  grpc::CallbackServerContext& context_;
  const SessionId id_;
  v1::AgentMessage incoming_;  // Of the read in flight

  Mutex mutex_;
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::optional<Status> end_ GUARDED_BY(mutex_);  // Finish with this when all is written.
  std::string gone_reason_ GUARDED_BY(mutex_);
  std::deque<v1::ControllerMessage> outgoing_ GUARDED_BY(mutex_);
};

AgentFront::~AgentFront() {
  WaitUntilGone();
}

void AgentFront::SetListener(AgentListener listener) {
  listener_ = std::move(listener);
}

void AgentFront::Send(SessionId session, const v1::ControllerMessage& message) {
  const MutexLock lock(mutex_);
  const auto at = streams_.find(session);
  if (at != streams_.end()) at->second->Send(message);
}

void AgentFront::Close(SessionId session, const Status& status) {
  const MutexLock lock(mutex_);
  const auto at = streams_.find(session);
  if (at != streams_.end()) at->second->Close(status);
}

void AgentFront::Stop(const Status& status) {
  const MutexLock lock(mutex_);
  stopped_ = status;
  for (const auto& [id, stream] : streams_) stream->Cut(status);
}

void AgentFront::WaitUntilGone() {
  MutexLock lock(mutex_);
  all_gone_.wait(lock, [&]() REQUIRES(mutex_) { return streams_.empty(); });
}

grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* AgentFront::Connect(
    grpc::CallbackServerContext* context) {
  Stream* stream = nullptr;
  {
    const MutexLock lock(mutex_);
    const SessionId id(++last_session_);
    stream = new Stream(*this, *context, id);
    streams_[id] = stream;
    if (!stopped_.ok()) stream->Close(stopped_);
  }
  stream->Begin();
  return stream;
}

void AgentFront::Remove(SessionId session) {
  const MutexLock lock(mutex_);
  streams_.erase(session);
  all_gone_.notify_all();
}

}  // namespace fabric::api
