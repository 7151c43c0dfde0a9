// Simulated fleet: one real controller with its store and one real agent per node, on one thread
// with a simulated clock, a simulated Clos fabric and a simulated network between agents and
// controller. Scenarios inject disturbances.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ed25519.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/store/store.h"
#include "tests/sim/bursts.h"
#include "tests/sim/clos.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/fleet_checks.h"
#include "tests/sim/sim_agent.h"
#include "tests/sim/trace.h"
#include "tests/sim/wire.h"
#include "tests/testing/temp_tree.h"

namespace fabric::sim {

struct FleetOptions {
  std::uint64_t seed = 1;
  Shape shape = {};
  bool counters = false;
  bool mesh = false;
  std::uint32_t pairs_at_once = 64;
  Duration probe_takes = std::chrono::milliseconds(50);
  double slow_closes = 0;  // SimAgentOptions
  bool show = false;
};

class Fleet final : public Surroundings, public WireEnds {
 public:
  explicit Fleet(const FleetOptions& options);
  ~Fleet() override;

  // All agents boot within `within`.
  void BootAll(Duration within);
  void Run(Duration how_long) { queue_.RunUntil(queue_.now() + how_long); }
  Duration now() const { return queue_.now(); }
  Moment Now() const;  // The controller's clocks

  // The controller. Calls are counted as its work.
  bool controller_up() const { return controller_ != nullptr; }
  Result<std::string> StartCampaign(const v1::CampaignSpec& spec);
  Status Cancel(const std::string& campaign);
  v1::Campaign Campaign(const std::string& id, bool results);
  std::vector<v1::NodeSummary> Nodes();
  std::vector<v1::DeviceSummary> Devices();
  std::vector<v1::Finding> Findings();  // That fail
  v1::MeshStatus Mesh();
  // Its id, and what has become of it.
  Result<std::string> Certify(const v1::CertificateRequest& request);
  v1::GetCertificateResponse Certificate(const std::string& id);
  const PublicKey& certificate_key() const { return key_.Public(); }
  Duration controller_busy() const { return controller_busy_; }  // CPU time, not simulated

  // Troubles.
  void CrashController(Duration down_for);
  void StallController(Duration how_long);
  void SetLink(const Port& port, bool up);
  // From now on the fabric is as `change` leaves it; what it was before is gone.
  Clos& fabric() { return clos_; }
  void HealFabric() { clos_ = Clos(options_.shape, options_.seed); }
  Bursts& bursts() { return bursts_; }
  // Another machine with this node's name; `same_id`: a clone of it.
  void AddDouble(std::uint32_t of, bool same_id);
  void RemoveDoubles();
  bool HasDouble(std::uint32_t of) const;

  std::uint32_t size() const { return options_.shape.nodes; }
  SimAgent& agent(std::uint32_t number) { return *agents_[number]; }
  const std::vector<std::unique_ptr<SimAgent>>& agents() const { return agents_; }
  static std::string NodeName(std::uint32_t number) { return Format("n{}", number + 1); }
  FleetChecks& checks() { return checks_; }
  Trace& trace() { return trace_; }
  const FleetOptions& options() const { return options_; }

  // Surroundings
  EventQueue& queue() override { return queue_; }
  Wire& wire() override { return wire_; }
  Random& random() override { return random_; }
  v1::NodeSnapshot Inspect(std::uint32_t number) override;
  v1::ProbeResult Measure(std::uint32_t number, const v1::ProbeAssignment& assignment,
                          const v1::ProbeEndpoint& remote) override;
  void OnQueuePairs(std::uint32_t number, const v1::ProbeAssignment& assignment,
                    bool open) override;
  void BeginBurst(std::uint32_t number, const v1::ProbeAssignment& assignment,
                  Duration how_long) override;
  std::map<std::string, std::uint64_t> Counters(std::uint32_t number,
                                                const v1::ProbePort& port) override {
    return bursts_.CountersOf({MachineOf(number), port.rail()});
  }
  v1::FlowSummary Ping(std::uint32_t number, const v1::ProbePort& from, const v1::MeshTarget& to,
                       std::uint32_t flow_label, std::uint32_t count) override;

  // WireEnds
  Status OnAgentMessage(SessionId session, const v1::AgentMessage& message) override;
  void OnAgentGone(SessionId session, const std::string& reason) override;
  void OnControllerMessage(std::uint32_t agent, SessionId session,
                           v1::ControllerMessage message) override;
  void OnStreamEnded(std::uint32_t agent, SessionId session, const Status& why) override;
  void OnWritten(std::uint32_t agent, SessionId session) override;

 private:
  // What the controller sends is looked at on its way.
  class Sink final : public control::AgentSink {
   public:
    explicit Sink(Fleet& fleet) : fleet_(fleet) {}
    void Send(SessionId session, const v1::ControllerMessage& message) override;
    void Close(SessionId session, const Status& status) override;

   private:
    Fleet& fleet_;
  };

  void OpenController();
  v1::ProbeResult BurstOf(std::uint32_t number, const v1::ProbeAssignment& assignment) const;
  void Tick();
  std::uint32_t MachineOf(std::uint32_t number) const;  // Of a double, the node it looks like
  bool Reaches(std::uint32_t number, const v1::ProbeAssignment& assignment,
               const v1::ProbeEndpoint& remote) const;
  template <class Work>
  auto Busy(Work work);

  const FleetOptions options_;
  const SigningKey key_;
  EventQueue queue_;
  Random random_;
  Trace trace_;
  Clos clos_;
  Bursts bursts_;
  FleetChecks checks_;
  std::uint64_t ticks_ = 0;
  Sink sink_;
  Wire wire_;
  control::EventBus bus_;
  testing::TempTree directory_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<control::Controller> controller_;
  std::uint64_t controllers_ = 0;  // That were started
  Duration controller_busy_{};
  std::vector<std::unique_ptr<SimAgent>> agents_;  // Doubles come last.
  struct Double {
    std::uint32_t of;
    bool same_id;
  };
  std::vector<Double> doubles_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> links_down_;  // Node and rail
};

}  // namespace fabric::sim
