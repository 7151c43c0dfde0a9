// Controller side of the mesh: collects the endpoints of agents, orders their pings, takes the
// result windows and asks blame for suspects. Agents without mesh support are not part of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/control/background.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/mesh/mesh_counts.h"
#include "daemon/control/mesh/mesh_judgement.h"
#include "daemon/control/mesh/mesh_layout.h"
#include "daemon/control/mesh/mesh_planning.h"
#include "daemon/control/options.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/sessions.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/agent.pb.h"
#include "fabric/v1/finding.pb.h"
#include "fabric/v1/mesh.pb.h"

namespace fabric::control {

class Mesh {
 public:
  struct Sources {
    const fleet::Sites& sites;  // Locations of ports
    Duration lost_after;        // Time without a message after which a node is lost
    JobClasses& classes;        // Class of traffic of the pings
    // Reads some open findings after the one with this id. True: there are more.
    std::function<bool(std::string& after, std::vector<v1::Finding>&)> open_findings;
    LocatedFaults& located;  // Takes each judgement
    Background* background;  // Plans and judges; nullptr: in the turn that begins it
  };
  // `epoch`: of the store.
  Mesh(const MeshSettings& settings, Sources sources, Sessions& agents, std::uint64_t epoch,
       Moment now);
  ~Mesh();

  // A node, port, neighbour or site changed: the plan and the orders are renewed soon.
  void OnFleetChange(Moment now);
  void OnEndpoints(const Session& session, const v1::MeshEndpoints& report, Moment now);
  void OnWindow(const Session& session, const v1::MeshWindow& window, Moment now);
  void OnLost(const std::string& node, Moment now);  // Its endpoints become invalid.
  void OnRemoved(const std::string& node, Moment now);
  void Tick(Moment now);
  // One step of the work since Tick(). False: nothing is left to do at present.
  bool Continue(const fleet::Fleet& fleet, Moment now);

  const v1::MeshStatus& Status() const { return status_; }  // Without pairs of leaves
  const std::vector<v1::MeshLeafPair>& leaf_pairs() const { return leaf_pairs_; }
  const MeshNumbers& numbers() const { return numbers_; }

 private:
  struct Endpoint {
    v1::ProbeEndpoint endpoint;
    std::string reason;       // Why it has none
    SteadyTime changed_at;    // Earlier pings do not count.
    std::uint64_t since = 0;  // First order number with this endpoint

    bool known() const { return endpoint.queue_pair_number() != 0; }
  };
  struct Node {
    SessionId session = {};  // That received the orders
    std::string sent = {};   // The newest order, without its number
    bool joined = false;     // It has reported endpoints in this session.
    double pings_per_second = 0;
    std::uint32_t windows = 0;  // Counted
  };
  struct Arrived {
    SteadyTime began;
    SteadyTime arrived;
    std::string node;
    std::size_t bytes;  // Of the window in memory
    v1::MeshWindow window;
  };
  static constexpr Duration kPlanEvery = std::chrono::seconds(5);

  bool IsBusy() const { return planning_ != nullptr || judgement_ != nullptr; }
  bool NeedsPlan(Moment now) const;
  void BeginPlan(Moment now);
  bool ContinuePlan(const fleet::Fleet& fleet);
  void TakePlan();
  bool KeepCounts();
  void EndPlan();
  void ChooseClass();
  std::string Obstacle(const v1::ProbePort& port) const;
  bool SendOrders();
  v1::MeshAssignment OrderOf(const std::string& node) const;
  void End(const Session& session);
  std::size_t EndpointsOf(const std::string& node) const;
  void NoteSessions(Moment now);
  bool CountWindows(Moment now);
  void Count(Arrived& arrived);
  bool Counts(const Arrived& arrived, const std::string& from, const std::string& to) const;
  bool ContinueJudgement(Moment now);
  void EndJudgement(MeshAnswer answer, Moment now);
  // `ports`: of the mesh.
  void Run(std::packaged_task<void()> work, std::size_t ports);
  bool IsRunning() const;

  const MeshSettings settings_;
  const Sources sources_;
  const Duration hold_;
  Sessions& agents_;
  v1::TrafficClass class_;

  std::map<std::string, Node> nodes_;
  std::map<std::string, Endpoint> endpoints_;  // By the name of the port
  std::set<std::string> out_of_date_;          // Nodes whose order may have changed
  MeshLayout layout_;
  std::vector<MeshCounts> counts_;  // By pair of the plan
  std::size_t flows_kept_ = 0;
  // At most one of both at a time. It reads the layout, which does not change meanwhile.
  std::unique_ptr<MeshPlanning> planning_;
  std::unique_ptr<MeshJudgement> judgement_;
  enum class Step : std::uint8_t { kFirst, kSecond, kThird, kAsked, kAnswered };
  Step step_ = Step::kFirst;             // Of it
  std::future<void> running_;            // In kAsked
  std::vector<MeshCounts> next_counts_;  // Of the next plan
  std::size_t orders_left_ = 0;          // In this tick
  std::size_t arrived_bytes_ = 0;
  std::deque<Arrived> arrived_;  // Not counted yet: news of their ends may follow.
  bool changed_ = true;
  SteadyTime changed_at_;
  SteadyTime planned_at_;
  SteadyTime judged_at_;
  bool fresh_ = false;  // New counts since the last assessment
  std::uint64_t next_number_;
  v1::MeshStatus status_;
  std::vector<v1::MeshLeafPair> leaf_pairs_;
  MeshNumbers numbers_;  // Of them
};

}  // namespace fabric::control
