// Invariants of a simulated fleet, checked while it runs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "daemon/control/events.h"
#include "fabric/v1/agent.pb.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/trace.h"

namespace fabric::sim {

struct FleetCounts {
  std::uint64_t probes = 0;        // Assigned to both ends
  std::uint64_t refused_busy = 0;  // Because the port had another probe
  std::uint64_t results = 0;       // Reported in events
  std::uint64_t nodes_lost = 0, nodes_back = 0;
  std::uint64_t findings = 0;  // Opened
  std::uint64_t messages_up = 0, messages_down = 0;
  std::uint64_t queue_pairs_max = 0;  // Probe ends that had theirs at once
};

class FleetChecks final : public control::EventListener {
 public:
  FleetChecks(const EventQueue& queue, Trace& trace) : queue_(queue), trace_(trace) {}

  // This node or leaf was disturbed: findings and blame about it can be right.
  void Excuse(const std::string& name) { excused_.insert(name); }
  void ExcuseAll() { all_excused_ = true; }
  bool Excused(const std::string& name) const { return all_excused_ || excused_.contains(name); }
  void Violate(const std::string& what);

  // Controller side: messages sent and received, by node name.
  void OnSent(const v1::ControllerMessage& message);
  void OnHeard(const std::string& node, const v1::AgentMessage& message);
  void OnSessionEnded(const std::string& node);
  void OnControllerCrash();
  // The machines' side.
  void OnQueuePairs(std::uint32_t agent, const v1::ProbeAssignment& assignment, bool open);
  std::size_t queue_pairs_open() const { return open_; }
  std::vector<std::string> QueuePairsOpen() const;  // "agent 3 mlx5_0: probe 17"

  // EventListener
  void OnEvent(const v1::Event& event) override;

  const FleetCounts& counts() const { return counts_; }
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  using Port = std::pair<std::string, std::string>;  // Node and device, as the controller knows it
  using Place = std::pair<std::uint32_t, std::string>;  // Agent and device
  using End = std::pair<std::uint64_t, v1::ProbeRole>;  // Of which probe
  struct Given {
    std::set<End> ends;   // Both may be on one port.
    bool shared = false;  // By receivers of an incast
    Duration free_at =
        Duration::max();  // It was stopped, and the controller no longer waits for it.
  };

  void OnFinding(const v1::Finding& finding);
  bool NamesExcused(const v1::Finding& finding) const;

  const EventQueue& queue_;
  Trace& trace_;
  bool all_excused_ = false;
  std::set<std::string> excused_;
  std::set<std::string> known_;  // Nodes that were connected at any time
  std::set<std::string> lost_;   // Nodes
  std::map<Port, Given> given_;
  std::map<std::uint64_t, std::set<Port>> ports_;  // Of each probe that was given
  std::map<Place, Given> ends_;                    // That have queue pairs
  std::size_t open_ = 0;
  FleetCounts counts_;
  std::vector<std::string> violations_;
};

}  // namespace fabric::sim
