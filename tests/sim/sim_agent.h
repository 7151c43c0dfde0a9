// A simulated node: the real agent's state machine and outbox, with a clock of its own, a process
// that crashes and stands still, and simulated probes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/session/agent.h"
#include "agents/session/outbox.h"
#include "base/clock.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/random.h"
#include "tests/sim/sim_mesh.h"
#include "tests/sim/sim_runner.h"
#include "tests/sim/wire.h"

namespace fabric::sim {

// What a node is in.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual EventQueue& queue() = 0;
  virtual Wire& wire() = 0;
  virtual Random& random() = 0;
  // What an inspection of the machine shows now; without the time.
  virtual v1::NodeSnapshot Inspect(std::uint32_t number) = 0;
  virtual v1::ProbeResult Measure(std::uint32_t number, const v1::ProbeAssignment& assignment,
                                  const v1::ProbeEndpoint& remote) = 0;
  virtual void OnQueuePairs(std::uint32_t number, const v1::ProbeAssignment& assignment,
                            bool open) = 0;
  virtual void BeginBurst(std::uint32_t number, const v1::ProbeAssignment& assignment,
                          Duration how_long) = 0;
  // What the adapter has counted, by vendor-neutral name.
  virtual std::map<std::string, std::uint64_t> Counters(std::uint32_t number,
                                                        const v1::ProbePort& port) = 0;
  virtual v1::FlowSummary Ping(std::uint32_t number, const v1::ProbePort& from,
                               const v1::MeshTarget& to, std::uint32_t flow_label,
                               std::uint32_t count) = 0;
};

struct SimAgentOptions {
  std::uint64_t seed = 0;
  bool counters = false;  // Sampled each second
  Duration inspect_every = std::chrono::seconds(30);
  Duration probe_takes = std::chrono::milliseconds(50);
  double slow_closes = 0;  // Of queue pairs: this part of them takes the driver a second.
};

class SimAgent final : public agent::AgentOutput, public ProbeMachine, public MeshMachine {
 public:
  SimAgent(std::uint32_t number, const SimAgentOptions& options, Surroundings& around);

  void Boot();
  // Ends the process. `quiet`: the machine lost power, so the peer is not notified.
  void Crash(bool quiet);
  void Freeze(Duration how_long);               // Stands still, as in a starved guest, and goes on
  void Slow(double factor) { slow_ = factor; }  // What the driver does takes so much longer.
  // Its clocks: seconds that the wall clock is off, and what both gain in a second.
  void SetClock(Duration wall_offset, double gain);
  void InspectNow();  // As after an event of the kernel
  void Stall(Duration how_long) { around_.wire().Stall(session_, now() + how_long); }
  void Cut(CutKind kind) { around_.wire().Cut(session_, kind); }

  bool up() const { return agent_.has_value(); }
  bool connected() const { return up() && agent_->connected(); }
  bool frozen() const { return now() < frozen_until_; }
  const SimRunner& runner() const { return runner_; }
  const SimMesh& mesh() const { return mesh_; }

  // From the wire
  void OnMessage(SessionId session, v1::ControllerMessage message);
  void OnEnded(SessionId session, const Status& why);
  void OnWritten(SessionId session);

  // AgentOutput
  void Dial() override;
  void HangUp() override { around_.wire().HangUp(session_); }
  bool Idle() override { return !outbox_->HasState() && !writing_state_; }
  void Send(const v1::AgentMessage& message) override;
  void StartProbe(const v1::ProbeAssignment& assignment) override { runner_.Start(assignment); }
  void ContinueProbe(const v1::ProbeStart& start) override { runner_.Continue(start); }
  void StopProbe(const v1::ProbeStop& stop) override { runner_.Stop(stop); }
  void StopAllProbes(const std::string& reason) override { runner_.StopAll(reason); }
  void OrderMesh(const v1::MeshAssignment& order) override { mesh_.SetOrder(order); }
  void OrderSubnet(const v1::SubnetOrder&) override {}  // Simulated nodes read no subnet.

  // ProbeMachine and MeshMachine
  std::uint32_t number() const override { return number_; }
  SteadyTime SteadyNow() const override;
  void Later(Duration delay, std::function<void()> act) override;
  std::optional<v1::RdmaDevice> FindDevice(const std::string& name) const override;
  void Report(const v1::AgentMessage& message) override { Send(message); }
  v1::ProbeResult Measure(const v1::ProbeAssignment& assignment,
                          const v1::ProbeEndpoint& remote) override {
    return around_.Measure(number_, assignment, remote);
  }
  Duration OpenTakes() override;
  Duration ProbeTakes(const v1::ProbeSpec& spec, bool ok) override;
  Duration CloseTakes() override;
  Duration AwaySince(SteadyTime then) const override;
  probe::PortWatch Watch(const v1::ProbePort& port) override;
  void BeginBurst(const v1::ProbeAssignment& assignment, Duration how_long) override {
    around_.BeginBurst(number_, assignment, how_long);
  }
  void OnQueuePairs(const v1::ProbeAssignment& assignment, bool open) override {
    around_.OnQueuePairs(number_, assignment, open);
  }
  Moment Now() const override;
  v1::FlowSummary Ping(const v1::ProbePort& from, const v1::MeshTarget& to,
                       std::uint32_t flow_label, std::uint32_t count) override {
    return around_.Ping(number_, from, to, flow_label, count);
  }

 private:
  Duration now() const { return around_.queue().now(); }
  Duration Scaled(double milliseconds);
  void WhenAwake(std::function<void()> act);
  void Inspect();
  void Sample();
  void Drive();
  void WriteNext();

  const std::uint32_t number_;
  const SimAgentOptions options_;
  Surroundings& around_;
  SimRunner runner_;
  SimMesh mesh_;
  std::uint64_t incarnation_ = 0;  // What an earlier one has begun is not done any more.
  Duration frozen_from_{}, frozen_until_{};
  double slow_ = 1;
  Duration clock_set_at_{}, clock_then_{}, wall_offset_{};
  double gain_ = 0;

  std::optional<agent::Agent> agent_;    // While the process runs
  std::optional<agent::Outbox> outbox_;  // Of the session
  SessionId session_;
  bool dialed_ = false;  // There is a session.
  bool greeted_ = false;
  bool writing_ = false, writing_state_ = false;
  std::deque<v1::ControllerMessage> inbox_;
  Duration wake_at_{};                   // Of the next Tick; in the past: none is due.
  std::vector<v1::RdmaDevice> devices_;  // Of the last inspection
  std::uint64_t table_ = 0;
  std::vector<counters::Value> values_;
  std::vector<std::size_t> traffic_;  // Places in `values_` of what grows
};

}  // namespace fabric::sim
