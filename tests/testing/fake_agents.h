// Fake agents for a Controller on one thread with a simulated clock. Messages of the controller are
// queued and answered in Deliver(), in order for each agent.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/control/agent_sink.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "fabric/v1/agent.pb.h"

namespace fabric::testing {

// Behaviour of an agent in probes. Heartbeats continue, except with kVanish and kMute.
enum class Behaviour {
  kOk,
  kRefuse,         // "port busy"
  kSilent,         // Never answers an assignment
  kNeverArms,      // As responder: ready, and then nothing
  kNeverFinishes,  // As initiator: starts, and then nothing
  kFail,           // As initiator: a work request ends with an error
  kNonsense,       // As initiator: ok with figures that cannot be
  kAimsElsewhere,  // Its endpoint has a GID of another machine
  kVanish,         // Its connection breaks when it is assigned
  kVanishRunning,  // Its connection breaks when it is to start
};

class FakeAgents final : public control::AgentSink {
 public:
  FakeAgents();

  // The controller under test. Attach again after a restart; the agents then have to notice it.
  void Attach(control::Controller& controller);

  Moment now() const { return now_; }

  // Hello and the whole snapshot, over a new connection. The machine id is "machine-<node>" unless
  // the snapshot has one. Returns what the controller says to it.
  Status Connect(const v1::NodeSnapshot& snapshot);
  void Disconnect(const std::string& node, const std::string& reason);
  void Behave(const std::string& node, Behaviour behaviour);
  // What lies between two agents: may change what an initiator is about to say. A result without
  // status is never said.
  using Path = std::function<void(const v1::ProbeAssignment&, v1::ProbeResult&)>;
  void SetPath(Path path) { on_path_ = std::move(path); }
  // What the counters of the own port say of an incast, of either end; nothing when not set.
  using Counters = std::function<v1::PortCounterDeltas(const v1::ProbeAssignment&)>;
  void SetCounters(Counters counters) { counters_ = std::move(counters); }
  void Mute(const std::string& node, bool mute);  // Connected, and no message at all
  void StopInspecting(const std::string& node) { agents_[node].idle = true; }  // Heartbeats alone
  Status Say(const std::string& node, const v1::AgentMessage& message);
  Status SendSnapshot(const v1::NodeSnapshot& snapshot);
  SessionId SessionOf(const std::string& node) const { return agents_.at(node).session; }

  // Answers until nothing is queued. With `shuffle`, agents take turns at random.
  void Deliver(std::mt19937_64* shuffle = nullptr);
  // Lets time pass in steps of 100 ms: heartbeats, answers, Tick.
  void Advance(Duration time, std::mt19937_64* shuffle = nullptr);

  // Time without messages and ticks: the controller does not run.
  void PassUnheard(Duration time) {
    now_.steady += time;
    now_.wall += time;
  }

  // AgentSink
  void Send(SessionId session, const v1::ControllerMessage& message) override;
  void Close(SessionId session, const Status& status) override;

  // What was seen.
  std::size_t probes_at_once_max() const { return probes_at_once_max_; }
  const std::vector<std::string>& violations() const { return violations_; }  // Two on one port
  std::uint32_t assignments(const std::string& node) const { return agents_.at(node).assignments; }
  std::uint32_t mesh_orders(const std::string& node) const { return agents_.at(node).mesh_orders; }
  const v1::MeshAssignment& mesh_assignment(const std::string& node) const {  // The newest one
    return agents_.at(node).mesh_assignment;
  }
  std::uint32_t snapshot_requests() const { return snapshot_requests_; }
  const std::map<SessionId, Status>& closed() const { return closed_; }
  // Messages to sessions that are not of these agents, and clears them.
  std::vector<std::pair<SessionId, v1::ControllerMessage>> TakeOthers() {
    return std::exchange(others_, {});
  }

 private:
  using EndId = std::pair<std::uint64_t, v1::ProbeRole>;  // Of which probe
  struct Probe {
    v1::ProbeAssignment assignment;
  };
  struct Agent {
    v1::NodeSnapshot snapshot;
    SessionId session;
    bool connected = false;
    bool mute = false;
    bool idle = false;  // Does not say any more that its settings are as they were.
    Behaviour behaviour = Behaviour::kOk;
    std::uint32_t assignments = 0;
    std::uint32_t mesh_orders = 0;
    v1::MeshAssignment mesh_assignment;
    std::map<EndId, Probe> probes;
    std::deque<v1::ControllerMessage> inbox;
  };

  // That of the port, as the agent of its node reports it; the node's name if it reports none.
  std::string GidOf(const v1::ProbePort& port) const;
  void Answer(const std::string& node, const v1::ControllerMessage& message);
  void OnAssignment(const std::string& node, const v1::ProbeAssignment& assignment);
  void OnStart(const std::string& node, const v1::ProbeStart& start);
  void End(const std::string& node, EndId end, v1::ProbeResult result);
  void CountProbes();

  control::Controller* controller_ = nullptr;
  Path on_path_;
  Counters counters_;
  Moment now_;
  std::uint64_t next_session_ = 1;
  std::map<std::string, Agent> agents_;
  std::map<SessionId, std::string> nodes_;
  std::map<SessionId, Status> closed_;
  std::vector<std::pair<SessionId, v1::ControllerMessage>> others_;
  std::vector<std::string> violations_;
  std::size_t probes_at_once_max_ = 0;
  std::uint32_t snapshot_requests_ = 0;
};

// Keeps every event.
class EventLog final : public control::EventListener {
 public:
  void OnEvent(const v1::Event& event) override { events.push_back(event); }
  // "node n1 CONNECTED", "finding n1/mlx5_0/1 open", "campaign c1 done", "port n1/mlx5_0/1 DOWN".
  // Results of pairs are left out.
  std::vector<std::string> Lines() const;

  std::vector<v1::Event> events;
};

}  // namespace fabric::testing
