// Simulated streams between agents and the controller: messages are delayed and stay in order;
// streams stall, and break for both ends, for one of them, or unnoticed until keepalive. The ends
// see the same calls as from gRPC (agents/session/link.h, daemon/api/agent_front.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "daemon/control/agent_sink.h"
#include "fabric/v1/agent.pb.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/random.h"

namespace fabric::sim {

// Both ends of all streams. The wire is never called back from within its own functions: all of
// these come from the queue.
class WireEnds {
 public:
  virtual ~WireEnds() = default;
  virtual Status OnAgentMessage(SessionId session, const v1::AgentMessage& message) = 0;
  virtual void OnAgentGone(SessionId session, const std::string& reason) = 0;
  virtual void OnControllerMessage(std::uint32_t agent, SessionId session,
                                   v1::ControllerMessage message) = 0;
  virtual void OnStreamEnded(std::uint32_t agent, SessionId session, const Status& why) = 0;
  virtual void OnWritten(std::uint32_t agent, SessionId session) = 0;
};

enum class CutKind {
  kBothKnow,
  kAgentKnows,       // The controller notices by keepalive.
  kControllerKnows,  // The agent does.
  kNeitherKnows,     // Both do.
};

class Wire final : public control::AgentSink {
 public:
  // As the front holds for a slow agent; with more the agent is dropped.
  static constexpr std::size_t kQueuedMax = 1024;
  // When an end notices that the other one is not there: gRPC's keepalive of both fronts.
  static constexpr Duration kKeepalive = std::chrono::seconds(30);

  Wire(EventQueue& queue, Random& random, WireEnds& ends)
      : queue_(queue), random_(random), ends_(ends) {}

  // One way; each message takes half to one and a half of it.
  void SetDelay(Duration delay) { delay_ = delay; }

  // The agent's end. OnStreamEnded follows one day, unless the agent itself is gone.
  SessionId Dial(std::uint32_t agent);
  void Write(SessionId session, v1::AgentMessage message);  // OnWritten follows.
  void HangUp(SessionId session);
  // The agent's process has ended; `quiet`: with its machine, so the peer is not notified.
  void Abandon(SessionId session, bool quiet);

  // The controller's end.
  void Send(SessionId session, const v1::ControllerMessage& message) override;
  void Close(SessionId session, const Status& status) override;
  // Its process has ended: all streams break. Until it listens again, dials are refused.
  void StopListening();
  void Listen() { listening_ = true; }
  void StallController(Duration until) {
    controller_stalled_until_ = std::max(controller_stalled_until_, until);
  }
  std::optional<std::uint32_t> AgentOf(SessionId session) const;
  bool controller_stalled() const { return queue_.now() < controller_stalled_until_; }
  Duration controller_stalled_until() const { return controller_stalled_until_; }

  // Troubles of the network between.
  void Stall(SessionId session, Duration until);
  void Cut(SessionId session, CutKind kind);

 private:
  struct Stream {
    std::uint32_t agent = 0;
    std::deque<v1::AgentMessage> up;
    std::deque<v1::ControllerMessage> down;
    Duration up_at{}, down_at{};  // When the last message arrives
    Duration stalled_until{};
    bool lost = false;              // Messages vanish.
    bool agent_ended = false;       // It was notified, or no longer exists.
    bool controller_ended = false;  // Nothing is heard, nothing is sent.
    bool gone = false;              // The controller was notified.
  };
  using Streams = std::map<SessionId, Stream>;

  Duration Takes() {
    return Duration(static_cast<Duration::rep>(static_cast<double>(delay_.count()) *
                                               random_.Between(0.5, 1.5)));
  }
  Stream* Find(SessionId session);
  Duration StalledUntil(const Stream& stream) const;
  void ArriveUp(SessionId session);
  void ArriveDown(SessionId session);
  void Written(SessionId session);
  void EndAgent(SessionId session, const Status& why, Duration when);
  void EndController(SessionId session, const std::string& reason, Duration when);
  void Forget(SessionId session);

  EventQueue& queue_;
  Random& random_;
  WireEnds& ends_;
  Duration delay_ = std::chrono::microseconds(200);
  Duration controller_stalled_until_{};
  bool listening_ = true;
  std::uint64_t last_session_ = 0;
  Streams streams_;
};

}  // namespace fabric::sim
