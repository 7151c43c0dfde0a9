// Agent session: the protocol with the controller as a state machine, without threads and sockets.
// Driven by On...() and Tick().
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

// Output of an Agent: gRPC and threads in production, a fake in tests. Must not call the agent.
class AgentOutput {
 public:
  virtual ~AgentOutput() = default;
  virtual void Dial() = 0;    // OnConnected or OnDisconnected follows.
  virtual void HangUp() = 0;  // OnDisconnected follows.
  // False until the last snapshot, change or counters have been sent: later changes and samples are
  // combined and wait. Call Tick() when it becomes true.
  virtual bool Idle() = 0;
  virtual void Send(const v1::AgentMessage& message) = 0;  // Queued; dropped when not connected.
  virtual void StartProbe(const v1::ProbeAssignment& assignment) = 0;
  virtual void ContinueProbe(const v1::ProbeStart& start) = 0;
  virtual void StopProbe(const v1::ProbeStop& stop) = 0;
  virtual void StopAllProbes(const std::string& reason) = 0;
  // Replaces the order of the mesh; an order without ports ends it.
  virtual void OrderMesh(const v1::MeshAssignment& order) = 0;
  // Replaces the order to read a subnet; an order without a device ends it.
  virtual void OrderSubnet(const v1::SubnetOrder& order) = 0;
};

struct AgentOptions {
  std::vector<std::string> probe_kinds;                   // Announced to the controller
  Duration backoff_min = std::chrono::milliseconds(500);  // Doubles with each failure, with 50 %
  Duration backoff_max = std::chrono::seconds(30);        // jitter, up to backoff_max.
  Duration welcome_max = std::chrono::seconds(10);        // From Dial() to the Welcome
  // How long the mesh continues without a controller, which may only be restarting.
  Duration mesh_disconnected_max = std::chrono::seconds(30);
  std::uint64_t probe_memory_bytes_max = 0;  // Announced; 0: not known
  bool reads_subnets = false;                // Announced
  // Of these, one leads. Dials go round; the backoff is between two rounds.
  std::size_t controllers = 1;
  Duration between_controllers = std::chrono::milliseconds(100);
  std::uint64_t seed = 0;  // For the jitter
};

class Agent {
 public:
  Agent(AgentOptions options, AgentOutput& output);

  // After each inspection. Ignores its counters, which have a table and samples.
  void OnSnapshot(v1::NodeSnapshot snapshot, Moment now);
  void OnCounterTable(counters::Table table);     // Before the samples of the table
  void OnCounterSample(counters::Sample sample);  // Each second.
  void OnConnected(Moment now);
  void OnDisconnected(const Status& why, Moment now);
  void OnMessage(const v1::ControllerMessage& message, Moment now);
  void Tick(Moment now);

  bool connected() const { return state_ == State::kStreaming; }
  // Deadline of the next Tick() if nothing else happens.
  SteadyTime next_tick() const;

 private:
  enum class State { kWaiting, kDialing, kGreeting, kStreaming, kHangingUp };

  bool IsOutdated(const v1::ControllerMessage& message, Moment now);
  void OnWelcome(const v1::Welcome& welcome, Moment now);
  void OnMeshOrder(const v1::MeshAssignment& order);
  void OnSubnetOrder(const v1::SubnetOrder& order);
  void EndOrphanedMesh(Moment now);
  SteadyTime NextOfState() const;
  void SendState();  // The whole snapshot, the changes, or a confirmation that nothing changed.
  void SendSnapshot();
  void SendCounters();

  const AgentOptions options_;
  AgentOutput& output_;
  State state_ = State::kWaiting;
  SteadyTime next_dial_{};  // While waiting.
  SteadyTime dialed_at_{};
  SteadyTime streaming_since_{};
  SteadyTime disconnected_since_{};  // While not streaming
  bool in_mesh_ = false;
  bool reads_subnet_ = false;
  Duration backoff_{};
  Duration spread_{};         // Of the next dial, by the controller
  Duration retry_after_{};    // By the controller that refused the session
  std::size_t failures_ = 0;  // Since the last connection that lasted
  std::uint64_t epoch_ = 0;   // Of the newest leader that sent a message
  std::minstd_rand random_;
  std::optional<v1::NodeSnapshot> latest_;
  bool waiting_ = false;  // For output_.Idle(), with something to send
  // Settings that the controller has, or had when the connection ended; empty: it needs a whole
  // snapshot.
  std::optional<v1::NodeSnapshot> sent_;
  bool confirm_ = false;         // Confirm unchanged settings: the session has just begun.
  bool awaits_request_ = false;  // Before the whole snapshot
  counters::Feed counters_;
  Duration heartbeat_interval_{};
  SteadyTime heartbeat_at_{};
  std::uint64_t heartbeat_sequence_ = 0;
};

}  // namespace fabric::agent
