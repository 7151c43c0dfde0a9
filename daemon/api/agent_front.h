// gRPC server of AgentLink: one reactor per connected agent. Heavy headers; include it in main.cc
// and grpc_front.cc only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/control/agent_sink.h"
#include "fabric/v1/agent.grpc.pb.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::api {

// Who listens to agents: the controller. Called without any lock of the front.
struct AgentListener {
  // In the order in which a session sent them; a failure closes the session with it.
  std::function<Status(SessionId, const v1::AgentMessage&)> on_message;
  // Once for each session, after its last message.
  std::function<void(SessionId, const std::string& reason)> on_gone;
};

// Safe to call from any thread; its lock is a leaf: nothing is called while it is held but gRPC.
class AgentFront final : public control::AgentSink, public v1::AgentLink::CallbackService {
 public:
  // Messages that wait for a slow agent; with more it is dropped with RESOURCE_EXHAUSTED.
  static constexpr std::size_t kQueuedMax = 1024;

  AgentFront() = default;
  ~AgentFront() override;

  // Before the first agent can connect: listener and front need each other.
  void SetListener(AgentListener listener);

  void Send(SessionId session, const v1::ControllerMessage& message) override EXCLUDES(mutex_);
  void Close(SessionId session, const Status& status) override EXCLUDES(mutex_);

  // Closes every session with this status and refuses new ones with it. Does not wait: shut the
  // server down next, with a deadline, for those whose other end does not read.
  void Stop(const Status& status) EXCLUDES(mutex_);
  // Returns when on_gone has been called for every session.
  void WaitUntilGone() EXCLUDES(mutex_);

  grpc::ServerBidiReactor<v1::AgentMessage, v1::ControllerMessage>* Connect(
      grpc::CallbackServerContext* context) override EXCLUDES(mutex_);

 private:
  class Stream;

  void Remove(SessionId session) EXCLUDES(mutex_);

  AgentListener listener_;

  Mutex mutex_;
  std::condition_variable_any all_gone_;
  std::uint64_t last_session_ GUARDED_BY(mutex_) = 0;
  Status stopped_ GUARDED_BY(mutex_);
  std::map<SessionId, Stream*> streams_ GUARDED_BY(mutex_);  // They delete themselves.
};

}  // namespace fabric::api
