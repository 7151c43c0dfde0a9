// The agent as a state machine: what it says to the controller and when. No thread and no socket;
// driven by On...() and Tick(), each given the time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// The outside world of an Agent. Implemented with gRPC and threads in production, faked in tests.
class AgentOutput {
 public:
  virtual ~AgentOutput() = default;
  virtual void Dial() = 0;                                  // OnConnected or OnDisconnected follows.
  virtual void Send(const v1::AgentMessage& message) = 0;   // Queued; dropped when not connected.
  virtual void StartProbe(const v1::ProbeAssignment& assignment) = 0;
  virtual void ContinueProbe(const v1::ProbeStart& start) = 0;
  virtual void StopProbe(const v1::ProbeStop& stop) = 0;
  virtual void StopAllProbes(const std::string& reason) = 0;
};

struct AgentOptions {
  Duration counters_interval = std::chrono::seconds(5);   // How often changed counters are sent.
  Duration backoff_min = std::chrono::milliseconds(500);  // Doubles with each failure, with jitter
  Duration backoff_max = std::chrono::seconds(30);        // of half of it, up to this.
  std::uint64_t seed = 0;                                 // Of the jitter.
};

class Agent {
 public:
  Agent(const AgentOptions& options, AgentOutput& output);

  void OnSnapshot(v1::NodeSnapshot snapshot, Moment now);  // After each inspection.
  void OnConnected(Moment now);
  void OnDisconnected(const Status& why, Moment now);
  void OnMessage(const v1::ControllerMessage& message, Moment now);
  void Tick(Moment now);

  bool connected() const { return state_ == State::kStreaming; }
  // When Tick has to be called at the latest.
  Moment next_dial() const { return next_dial_; }

 private:
  enum class State { kWaiting, kDialing, kGreeting, kStreaming };

  void SendSnapshot(Moment now);

  const AgentOptions options_;
  AgentOutput& output_;
  State state_ = State::kWaiting;
  Moment next_dial_{};
  Duration backoff_{};
  std::minstd_rand random_;
  std::optional<v1::NodeSnapshot> latest_;
  std::optional<v1::NodeSnapshot> sent_;  // What the controller has. Empty: wants a whole one.
  Moment counters_sent_at_{};
  Duration heartbeat_interval_{};
  Moment heartbeat_at_{};
  std::uint64_t heartbeat_sequence_ = 0;
};

}  // namespace fabric::agent
