#include "daemon/api/agent_front.h"

#include <deque>
#include <optional>
#include <utility>

#include "daemon/api/grpc_status.h"

namespace fabric::api {

// Everything that is marked as guarded is guarded by the front's mutex. gRPC's rules: one read and
// one write in flight, exactly one Finish, and OnDone comes last, when nothing is in flight.
class AgentFront::Stream final
    : public grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage> {
 public:
  Stream(AgentFront& front, grpc::CallbackServerContext& context, SessionId id)
      : front_(front), context_(context), id_(id) {}

  void Begin() { StartRead(&incoming_); }

  void SendLocked(const v1::ControllerMessage& message) REQUIRES(front_.mutex_) {
    if (end_) return;
    if (outgoing_.size() >= kQueuedMax) {
      CutLocked({Code::kResourceExhausted, "the agent does not read what it is sent"});
      return;
    }
    outgoing_.push_back(message);
    PumpLocked();
  }

  // After what is queued.
  void CloseLocked(const Status& status) REQUIRES(front_.mutex_) {
    if (end_) return;
    end_ = status;
    PumpLocked();
  }

  // At once, with whatever is in flight.
  void CutLocked(const Status& status) REQUIRES(front_.mutex_) {
    if (!end_) end_ = status;
    while (outgoing_.size() > (writing_ ? 1 : 0)) outgoing_.pop_back();
    if (writing_) context_.TryCancel();  // Ends the write; the status stays ours to say.
    PumpLocked();
  }

  void OnReadDone(bool ok) override {
    {
      const MutexLock lock(front_.mutex_);
      if (end_) return;  // What a closed session still says is not heard.
      if (!ok) {
        gone_reason_ = "the agent ended the connection";
        CutLocked(Status());
        return;
      }
    }
    const Status status = front_.listener_.on_message(id_, incoming_);
    if (!status.ok()) {
      const MutexLock lock(front_.mutex_);
      if (gone_reason_.empty()) gone_reason_ = status.message();
      CloseLocked(status);
      return;
    }
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(front_.mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (!ok) {
      outgoing_.clear();
      if (!end_) end_ = Status(Code::kUnavailable, "the agent's connection broke");
    }
    PumpLocked();
  }

  void OnCancel() override {
    const MutexLock lock(front_.mutex_);
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
    const MutexLock lock(front_.mutex_);
    if (!gone_reason_.empty()) return gone_reason_;
    return end_ ? end_->message() : "";
  }

  void PumpLocked() REQUIRES(front_.mutex_) {
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

  bool writing_ GUARDED_BY(front_.mutex_) = false;
  bool finished_ GUARDED_BY(front_.mutex_) = false;
  std::optional<Status> end_ GUARDED_BY(front_.mutex_);  // Finish with this when all is written.
  std::string gone_reason_ GUARDED_BY(front_.mutex_);
  std::deque<v1::ControllerMessage> outgoing_ GUARDED_BY(front_.mutex_);
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
  if (at != streams_.end()) at->second->SendLocked(message);
}

void AgentFront::Close(SessionId session, const Status& status) {
  const MutexLock lock(mutex_);
  const auto at = streams_.find(session);
  if (at != streams_.end()) at->second->CloseLocked(status);
}

void AgentFront::Stop(const Status& status) {
  const MutexLock lock(mutex_);
  stopped_ = status;
  for (const auto& [id, stream] : streams_) stream->CutLocked(status);
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
    if (!stopped_.ok()) stream->CloseLocked(stopped_);
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
