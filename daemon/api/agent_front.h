// gRPC server of AgentLink: one reactor per connected agent. Heavy headers; include it in main.cc
// and grpc_front.cc only.
//
// gRPC's threads only check a message against the bounds, decode it and put it into the inbox of
// its session. One thread of the front takes from the inboxes in turn and calls the listener.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/caller.h"
#include "daemon/api/agent_inbox.h"
#include "daemon/control/agent_sink.h"
#include "fabric/v1/agent.grpc.pb.h"
#include "fabric/v1/agent.pb.h"
#include "proto/bounds.h"
#include "proto/wire_check.h"

namespace fabric::api {

// Who listens to agents: the controller. Called by one thread, without any lock of the front. An
// exception closes the session.
struct AgentListener {
  // Whether the caller may connect, and then whether it may report as the node that its Hello
  // names. `node`: nullptr at first. A failure closes the session. Called from any thread. Without
  // it every agent is refused.
  std::function<Status(const access::Caller& caller, const std::string* node)> admit;
  // In the order in which a session sent them; a failure closes the session with it.
  std::function<Status(SessionId, v1::AgentMessage)> on_message;
  // Once for each session, after its last message.
  std::function<void(SessionId, const std::string& reason)> on_gone;
  // A message exceeded a bound, which closes the session, or the agent exceeds a rate, which slows
  // it down; then at most every 10 s.
  std::function<void(SessionId, const Excess& excess)> on_excess = {};
};

using AgentLinkService = v1::AgentLink::WithRawCallbackMethod_Connect<v1::AgentLink::Service>;

// Safe to call from any thread; its lock is a leaf: nothing is called while it is held but gRPC.
class AgentFront final : public control::AgentSink, public AgentLinkService {
 public:
  // Messages that wait for a slow agent; with more it is dropped with RESOURCE_EXHAUSTED.
  static constexpr std::size_t kQueuedMax = Limit("outbox_messages");

  static constexpr std::chrono::seconds kHelloWithin{Limit("hello_seconds")};

  explicit AgentFront(Duration hello_within = kHelloWithin);
  ~AgentFront() override;

  // Before the first agent can connect: listener and front need each other.
  void SetListener(AgentListener listener);

  void Send(SessionId session, const v1::ControllerMessage& message) override EXCLUDES(mutex_);
  void Close(SessionId session, const Status& status) override EXCLUDES(mutex_);

  // Asks the listener again whether each session is admitted, and closes those that are not: after
  // a revocation, or when a certificate has expired. Call every few seconds.
  void Recheck() EXCLUDES(mutex_);
  // The node has a new certificate: its session continues with that. `chain_pem`: see
  // access::ClientCertificate.
  void OnRenewed(const std::string& node, const access::ClientCertificate& certificate)
      EXCLUDES(mutex_);

  // Closes every session with this status; agents may connect again.
  void EndAll(const Status& status) EXCLUDES(mutex_);

  // Closes every session with this status and refuses new ones with it. Does not wait: shut the
  // server down next, with a deadline, for those whose other end does not read.
  void Stop(const Status& status) EXCLUDES(mutex_);
  // Returns when on_gone has been called for every session.
  void WaitUntilGone() EXCLUDES(mutex_);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Connect(
      grpc::CallbackServerContext* context) override EXCLUDES(mutex_);

 private:
  class Stream;
  struct Session {
    Stream* stream;  // Deletes itself; nullptr once it has
    access::Caller caller;
    SteadyTime opened_at;
    std::string node = {};  // Of its Hello
    AgentInbox inbox = {};
    bool greeted = false;
    bool queued = false;  // In urgent_ or turns_
    bool failed = false;  // Later messages are not delivered.
  };

  void Put(SessionId id, AgentInbox::Item item) EXCLUDES(mutex_);
  void Queue(SessionId id, Session& session) REQUIRES(mutex_);
  bool Read(Session& session, SteadyTime now) REQUIRES(mutex_);
  void Serve(const std::stop_token& stop) EXCLUDES(mutex_);
  bool ServeNext() EXCLUDES(mutex_);
  Status Admit(const access::Caller& caller, const std::string* node) const;
  Status Deliver(SessionId id, const access::Caller& caller, AgentInbox::Item& item);
  void Sweep(SteadyTime now) REQUIRES(mutex_);

  const Duration hello_within_;
  const WireCheck check_;
  AgentListener listener_;

  Mutex mutex_;
  std::condition_variable_any all_gone_;
  std::condition_variable_any work_;
  std::uint64_t last_session_ GUARDED_BY(mutex_) = 0;
  Status stopped_ GUARDED_BY(mutex_);
  std::map<SessionId, Session> sessions_ GUARDED_BY(mutex_);
  // Sessions with items, once each. Hello and heartbeats come first: they are short, and an agent
  // whose Hello or heartbeat waits counts as lost.
  std::deque<SessionId> urgent_ GUARDED_BY(mutex_);
  std::deque<SessionId> turns_ GUARDED_BY(mutex_);
  std::set<SessionId> paused_ GUARDED_BY(mutex_);  // Not reading
  std::size_t memory_ GUARDED_BY(mutex_) = 0;      // Of all inboxes
  SteadyTime swept_at_ GUARDED_BY(mutex_);
  std::jthread worker_;  // Last: uses all of the above
};

}  // namespace fabric::api
