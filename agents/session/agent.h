// The agent as a state machine: what it says to the controller and when. No thread and no socket;
// driven by On...() and Tick(), each given the time.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "agents/counters/feed.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

// The outside world of an Agent. Implemented with gRPC and threads in production, faked in tests.
// None of these calls back into the agent.
class AgentOutput {
 public:
  virtual ~AgentOutput() = default;
  virtual void Dial() = 0;    // OnConnected or OnDisconnected follows.
  virtual void HangUp() = 0;  // OnDisconnected follows.
  // False while a snapshot, a change or counters have not left yet: the next change waits and
  // carries both, as does the next sample. Call Tick() when that is over.
  virtual bool Idle() = 0;
  virtual void Send(const v1::AgentMessage& message) = 0;  // Queued; dropped when not connected.
  virtual void StartProbe(const v1::ProbeAssignment& assignment) = 0;
  virtual void ContinueProbe(const v1::ProbeStart& start) = 0;
  virtual void StopProbe(const v1::ProbeStop& stop) = 0;
  virtual void StopAllProbes(const std::string& reason) = 0;
  // What the mesh is to do from now on; an order without ports ends it.
  virtual void OrderMesh(const v1::MeshOrder& order) = 0;
};

struct AgentOptions {
  std::vector<std::string> probe_kinds;                   // That this agent can run.
  Duration backoff_min = std::chrono::milliseconds(500);  // Doubles with each failure, with jitter
  Duration backoff_max = std::chrono::seconds(30);        // of half of it, up to this.
  Duration welcome_max = std::chrono::seconds(10);  // From Dial() to the controller's Welcome.
  // The mesh goes on for so long without a controller, which may only be restarting.
  Duration mesh_disconnected_max = std::chrono::seconds(30);
  std::uint64_t seed = 0;  // Of the jitter.
};

class Agent {
 public:
  Agent(AgentOptions options, AgentOutput& output);

  // After each inspection. Its counters are left out: they have a table and samples of their own.
  void OnSnapshot(v1::NodeSnapshot snapshot, Moment now);
  void OnCounterTable(counters::Table table);     // A new one, before its samples.
  void OnCounterSample(counters::Sample sample);  // Each second.
  void OnConnected(Moment now);
  void OnDisconnected(const Status& why, Moment now);
  void OnMessage(const v1::ControllerMessage& message, Moment now);
  void Tick(Moment now);

  bool connected() const { return state_ == State::kStreaming; }
  // When Tick has to be called at the latest, if nothing else happens.
  SteadyTime next_tick() const;

 private:
  enum class State { kWaiting, kDialing, kGreeting, kStreaming, kHangingUp };

  void OnWelcome(const v1::Welcome& welcome, Moment now);
  void OnMeshOrder(const v1::MeshOrder& order);
  void EndOrphanedMesh(Moment now);
  SteadyTime NextOfState() const;
  void SendState();  // A whole snapshot, what has changed since the last one, or that nothing has.
  void SendCounters();

  const AgentOptions options_;
  AgentOutput& output_;
  State state_ = State::kWaiting;
  SteadyTime next_dial_{};  // While waiting.
  SteadyTime dialed_at_{};
  SteadyTime streaming_since_{};
  SteadyTime disconnected_since_{};  // While it is not streaming
  bool in_mesh_ = false;
  Duration backoff_{};
  std::minstd_rand random_;
  std::optional<v1::NodeSnapshot> latest_;
  bool waiting_ = false;                  // For the output, with something to send
  std::optional<v1::NodeSnapshot> sent_;  // What the controller has. Empty: wants a whole one.
  counters::Feed counters_;
  Duration heartbeat_interval_{};
  SteadyTime heartbeat_at_{};
  std::uint64_t heartbeat_sequence_ = 0;
};

}  // namespace fabric::agent
