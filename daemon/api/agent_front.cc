#include "daemon/api/agent_front.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/api/caught.h"
#include "daemon/api/grpc_caller.h"
#include "daemon/api/grpc_status.h"
#include "daemon/api/peer_slots.h"
#include "proto/timestamps.h"

namespace fabric::api {
namespace {

constexpr Duration kSweepEvery = std::chrono::milliseconds(100);
constexpr std::size_t kRecheckedAtOnce = 256;

SteadyTime Now() {
  return SystemClock().Now().steady;
}

}  // namespace

// gRPC's rules: one read and one write in flight, exactly one Finish, and OnDone comes last, when
// nothing is in flight. Locks: the front's may be held when ours is taken, never the other way.
class AgentFront::Stream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(AgentFront& front, grpc::CallbackServerContext& context, SessionId id)
      : front_(front), context_(context), id_(id) {}

  // Reads the next message, unless the stream ends.
  void Read() EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (!end_) StartRead(&incoming_);
  }

  void Send(grpc::ByteBuffer message) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (end_) return;
    outgoing_bytes_ += message.Length();
    if (outgoing_.size() >= kQueuedMax || outgoing_bytes_ > Limit("outbox_bytes")) {
      CutLocked({Code::kResourceExhausted, "the agent does not read what it is sent"});
      return;
    }
    outgoing_.push_back(std::move(message));
    PumpLocked();
  }

  // After the queued messages.
  void Close(const Status& status) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    CloseLocked(status);
  }

  // As Close, for a reason that the node gets.
  void Fail(const Status& status) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (gone_reason_.empty()) gone_reason_ = status.message();
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
      if (end_) return;  // Messages of a closed session are ignored.
      if (!ok) {
        gone_reason_ = "the agent ended the connection";
        CutLocked(Status());
        return;
      }
    }
    const Status status = Caught([&] { return Take(); });
    if (!status.ok()) Fail(status);
  }

  void OnWriteDone(bool ok) override {
    const MutexLock lock(mutex_);
    writing_ = false;
    outgoing_bytes_ -= outgoing_.front().Length();
    outgoing_.pop_front();
    if (!ok) {
      outgoing_.clear();
      outgoing_bytes_ = 0;
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
    front_.Put(id_, {.gone = GoneReason()});
    delete this;
  }

 private:
  // Checks and decodes the message that was read.
  Status Take() {
    const std::size_t bytes = incoming_.Length();
    WireCheckResult found;
    {
      grpc::ProtoBufferReader reader(&incoming_);
      found = front_.check_.Check(reader, bytes);
    }
    if (found.excess) {
      front_.Put(id_, {.excess = found.excess});
      return ToStatus(*found.excess);
    }
    AgentInbox::Item item{.message = v1::AgentMessage(), .bytes = bytes, .memory = found.memory};
    if (!grpc::SerializationTraits<v1::AgentMessage>::Deserialize(&incoming_, &*item.message).ok())
      return {Code::kInvalidArgument, "expected an AgentMessage, saw bytes that are not one"};
    if (found.invalid_timestamp) {
      item.excess = {.bound = &BoundOf("timestamp_seconds"),
                     .seen = ClearInvalidTimestamps(*item.message)};
    }
    front_.Put(id_, std::move(item));
    return {};
  }

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
    while (outgoing_.size() > (writing_ ? 1 : 0)) {
      outgoing_bytes_ -= outgoing_.back().Length();
      outgoing_.pop_back();
    }
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
  grpc::ByteBuffer incoming_;  // Of the read in flight

  Mutex mutex_;
  bool writing_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
  std::optional<Status> end_ GUARDED_BY(mutex_);  // Finish with this when all is written.
  std::string gone_reason_ GUARDED_BY(mutex_);
  std::deque<grpc::ByteBuffer> outgoing_ GUARDED_BY(mutex_);
  std::size_t outgoing_bytes_ GUARDED_BY(mutex_) = 0;
};

AgentFront::AgentFront(Duration hello_within)
    : hello_within_(hello_within),
      check_(*v1::AgentMessage::descriptor(), BoundOf("agent_message_bytes"),
             BoundOf("agent_message_memory")) {}

AgentFront::~AgentFront() {
  WaitUntilGone();
}

void AgentFront::SetListener(AgentListener listener) {
  listener_ = std::move(listener);
  worker_ = std::jthread([this](const std::stop_token& stop) { Serve(stop); });
}

void AgentFront::Send(SessionId session, const v1::ControllerMessage& message) {
  grpc::ByteBuffer buffer;
  bool own = false;
  if (!grpc::SerializationTraits<v1::ControllerMessage>::Serialize(message, &buffer, &own).ok())
    return;
  const MutexLock lock(mutex_);
  const auto at = sessions_.find(session);
  if (at != sessions_.end() && at->second.stream != nullptr)
    at->second.stream->Send(std::move(buffer));
}

void AgentFront::Close(SessionId session, const Status& status) {
  const MutexLock lock(mutex_);
  const auto at = sessions_.find(session);
  if (at != sessions_.end() && at->second.stream != nullptr) at->second.stream->Close(status);
}

void AgentFront::Recheck() {
  struct Checked {
    SessionId id;
    access::Caller caller;
    std::string node;
  };
  SessionId after;
  while (true) {
    std::vector<Checked> part;
    {
      const MutexLock lock(mutex_);
      for (auto at = sessions_.upper_bound(after);
           at != sessions_.end() && part.size() < kRecheckedAtOnce; ++at)
        part.push_back({at->first, at->second.caller, at->second.node});
    }
    if (part.empty()) return;
    after = part.back().id;
    for (const Checked& one : part) {
      const Status status = Admit(one.caller, one.node.empty() ? nullptr : &one.node);
      if (status.ok()) continue;
      const MutexLock lock(mutex_);
      const auto at = sessions_.find(one.id);
      if (at != sessions_.end() && at->second.stream != nullptr) at->second.stream->Fail(status);
    }
  }
}

void AgentFront::EndAll(const Status& status) {
  const MutexLock lock(mutex_);
  for (const auto& [id, session] : sessions_)
    if (session.stream != nullptr) session.stream->Fail(status);
}

void AgentFront::OnRenewed(const std::string& node, const access::ClientCertificate& certificate) {
  const MutexLock lock(mutex_);
  for (auto& [id, session] : sessions_)
    if (session.node == node && session.caller.certificate)
      session.caller.certificate = certificate;
}

void AgentFront::Stop(const Status& status) {
  const MutexLock lock(mutex_);
  stopped_ = status;
  for (const auto& [id, session] : sessions_)
    if (session.stream != nullptr) session.stream->Cut(status);
}

void AgentFront::WaitUntilGone() {
  MutexLock lock(mutex_);
  all_gone_.wait(lock, [&]() REQUIRES(mutex_) { return sessions_.empty(); });
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AgentFront::Connect(
    grpc::CallbackServerContext* context) {
  access::Caller caller = CallerOf(*context);
  const Status admitted = Admit(caller, nullptr);
  const MutexLock lock(mutex_);
  const SessionId id(++last_session_);
  auto* const stream = new Stream(*this, *context, id);
  const bool full = sessions_.size() >= Limit("agent_streams");
  sessions_.emplace(id, Session{.stream = stream, .caller = std::move(caller), .opened_at = Now()});
  if (!stopped_.ok())
    stream->Close(stopped_);
  else if (!admitted.ok())
    stream->Close(admitted);
  else if (full)
    stream->Close(
        ToStatus({.bound = &BoundOf("agent_streams"), .seen = Limit("agent_streams") + 1}));
  else
    stream->Read();
  return stream;
}

void AgentFront::Put(SessionId id, AgentInbox::Item item) {
  const SteadyTime now = Now();
  const MutexLock lock(mutex_);
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) return;
  Session& session = at->second;
  if (item.gone) session.stream = nullptr;
  session.greeted |= item.message && item.message->has_hello();
  memory_ += item.memory;
  const bool read = item.message.has_value();
  session.inbox.Put(std::move(item), now);
  Queue(id, session);
  if (read && !Read(session, now)) paused_.insert(id);
}

void AgentFront::Queue(SessionId id, Session& session) {
  if (session.inbox.empty() || std::exchange(session.queued, true)) return;
  (session.inbox.front().IsUrgent() ? urgent_ : turns_).push_back(id);
  work_.notify_one();
}

// Returns false if the inbox is full or the budget of the session is used up.
bool AgentFront::Read(Session& session, SteadyTime now) {
  if (session.stream == nullptr) return true;
  if (memory_ >= Limit("inbox_memory_total")) return false;
  if (session.inbox.ReadIn(now) != Duration::zero()) return false;
  session.stream->Read();
  return true;
}

void AgentFront::Serve(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (ServeNext()) continue;
    MutexLock lock(mutex_);
    work_.wait_for(lock, stop, kSweepEvery,
                   [&]() REQUIRES(mutex_) { return !urgent_.empty() || !turns_.empty(); });
  }
}

// One item of the session whose turn it is. False: there is none.
bool AgentFront::ServeNext() {
  const SteadyTime now = Now();
  SessionId id;
  AgentInbox::Item item;
  access::Caller caller;  // Of a Hello
  {
    const MutexLock lock(mutex_);
    if (now - swept_at_ >= kSweepEvery) Sweep(now);
    std::deque<SessionId>& turns = urgent_.empty() ? turns_ : urgent_;
    if (turns.empty()) return false;
    id = turns.front();
    turns.pop_front();
    Session& session = sessions_.at(id);
    item = session.inbox.Take();
    memory_ -= item.memory;
    session.queued = false;
    if (session.failed) item.message.reset();
    if (item.message && item.message->has_hello()) {
      caller = session.caller;
      session.node = item.message->hello().node().name();
    }
  }
  const Status status = Caught([&] { return Deliver(id, caller, item); });
  const MutexLock lock(mutex_);
  if (item.gone) {
    paused_.erase(id);
    sessions_.erase(id);
    all_gone_.notify_all();
    return true;
  }
  Session& session = sessions_.at(id);
  if (!status.ok()) {
    session.failed = true;
    if (session.stream != nullptr) session.stream->Fail(status);
  }
  Queue(id, session);
  return true;
}

Status AgentFront::Admit(const access::Caller& caller, const std::string* node) const {
  if (!listener_.admit) return {Code::kPermissionDenied, "agents are not admitted here"};
  return Caught([&] { return listener_.admit(caller, node); });
}

Status AgentFront::Deliver(SessionId id, const access::Caller& caller, AgentInbox::Item& item) {
  if (item.excess && listener_.on_excess) listener_.on_excess(id, *item.excess);
  if (item.gone) listener_.on_gone(id, *item.gone);
  if (!item.message) return {};
  if (item.message->has_hello())
    RETURN_IF_ERROR(Admit(caller, &item.message->hello().node().name()));
  return listener_.on_message(id, *std::move(item.message));
}

// Resumes sessions that can be read again, and ends those without Hello.
void AgentFront::Sweep(SteadyTime now) {
  swept_at_ = now;
  std::erase_if(paused_, [&](SessionId id) REQUIRES(mutex_) {
    const auto at = sessions_.find(id);
    return at == sessions_.end() || Read(at->second, now);
  });
  for (auto& [id, session] : sessions_)
    if (!session.greeted && session.stream != nullptr && now - session.opened_at >= hello_within_)
      session.stream->Fail(
          {Code::kDeadlineExceeded, Format("expected hello within {} s of the start of the stream",
                                           std::chrono::duration<double>(hello_within_).count())});
}

}  // namespace fabric::api
