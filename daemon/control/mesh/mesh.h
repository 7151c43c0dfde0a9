// Controller side of the mesh: collects the endpoints of agents, orders their pings, takes the
// result windows and asks blame for suspects. Agents without mesh support are not part of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/control/mesh/mesh_counts.h"
#include "daemon/control/options.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/sessions.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "daemon/plan/mesh.h"
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
    std::function<std::vector<v1::Finding>()> open_findings;
    LocatedFaults& located;  // Takes each judgement
  };
  // `epoch`: of the store.
  Mesh(const MeshSettings& settings, Sources sources, Sessions& agents, std::uint64_t epoch,
       Moment now);

  // A node, port, neighbour or site changed: the plan and the orders are renewed soon.
  void OnFleetChange(Moment now);
  void OnEndpoints(const Session& session, const v1::MeshEndpoints& report, Moment now);
  void OnWindow(const Session& session, const v1::MeshWindow& window, Moment now);
  void OnLost(const std::string& node, Moment now);  // Its endpoints become invalid.
  void OnRemoved(const std::string& node, Moment now);
  void Tick(const fleet::Fleet& fleet, Moment now);

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
  using Ends = std::pair<std::string, std::string>;  // Names of two ports

  void MakePlan(const fleet::Fleet& fleet, Moment now);
  void ChooseClass();
  std::string Obstacle(const plan::Port& port) const;
  void KeepCounts(plan::MeshPlan plan);
  void SendOrders(Moment now);
  v1::MeshAssignment OrderOf(const std::string& node) const;
  void End(const Session& session);
  std::size_t EndpointsOf(const std::string& node) const;
  void NoteSessions(Moment now);
  google::protobuf::RepeatedPtrField<v1::PairResult> ResultsForBlame() const;
  void Count(const Arrived& arrived);
  bool Counts(const Arrived& arrived, const Ends& ends) const;
  void Judge(Moment now);
  void Locate(const google::protobuf::RepeatedPtrField<v1::PairResult>& results, Moment now);

  const MeshSettings settings_;
  const Sources sources_;
  const Duration hold_;
  Sessions& agents_;
  v1::TrafficClass class_;

  std::map<std::string, Node> nodes_;
  std::map<std::string, Endpoint> endpoints_;  // By the name of the port
  std::set<std::string> out_of_date_;          // Nodes whose order may have changed
  plan::MeshPlan plan_;
  std::vector<plan::Port> candidates_;  // With and without endpoints
  struct Places {
    std::vector<std::size_t> candidates;
    std::vector<std::size_t> pairs;  // In the plan, with this node as sender
  };
  std::map<std::string, Places> places_;  // By node
  blame::Fabric fabric_;
  std::vector<MeshCounts> counts_;     // By pair of the plan
  std::map<Ends, std::size_t> pairs_;  // Index in the plan's pairs
  std::size_t flows_kept_ = 0;
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
