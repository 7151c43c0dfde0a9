// Latest state of every node that ever reported.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/fleet/counter_rates.h"
#include "daemon/fleet/counter_stream.h"
#include "daemon/fleet/infiniband_topology.h"
#include "daemon/fleet/rails.h"
#include "daemon/fleet/rate_history.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/memory.pb.h"

namespace fabric {
struct Bound;
struct Excess;
}  // namespace fabric

namespace fabric::fleet {

// The switch that a port is connected to, or was before its link went down.
struct SwitchOfPort {
  std::string device;
  std::uint32_t port = 0;
  std::string name;
  std::string switch_port;  // Empty: not known
  friend bool operator==(const SwitchOfPort&, const SwitchOfPort&) = default;
};

// A bound that messages of the node's agent exceeded.
struct BoundViolation {
  std::uint64_t seen = 0;  // Largest value
  std::uint64_t count = 0;
  Moment last_at;
};

// A second agent claimed the name of a connected node, and was refused.
struct Claim {
  std::string machine_id;  // Of the refused agent
  Moment at;
};

struct NodeRecord {
  std::string name;
  v1::NodeState state = v1::NODE_STATE_CONNECTED;
  Moment state_since;
  Moment reported_at;
  Moment inspected_at;  // Last report of its settings, changed or unchanged
  std::string lost_reason;
  std::string maintenance;  // Reason and end. Empty: not in maintenance
  v1::NodeSnapshot snapshot;
  NodeRails rails;  // Of the fabric ports of the snapshot, in their order
  std::vector<SwitchOfPort> switches;
  CounterStream counters;  // Decoder of its counter samples
  CounterRates rates;
  std::optional<WallTime> counters_at;                // Arrival of the last table or sample
  std::map<const Bound*, BoundViolation> violations;  // Since the controller started
  bool over_budget = false;                           // Violations in the last minutes
  std::optional<Claim> claim;                         // In the last minutes
  bool outdated = false;  // Connected, but its last report of settings is too old
  // Increases with each change of the snapshot other than counters. 0: not known.
  std::uint64_t version = 0;

  // True when rules may judge the settings of its snapshot.
  bool known() const { return state == v1::NODE_STATE_CONNECTED && !outdated; }
};

// A value without threads: its owner locks.
class Fleet {
 public:
  // Decides the rails. Borrows it. Call it before the first node.
  void SetProfile(const profile::Profile* profile) { layouts_.SetProfile(profile); }
  // Called after each change of a node's state or settings, but not of counters, and with nullptr
  // after its removal. Call it before the first node.
  using Listener = std::function<void(const std::string& name, const NodeRecord* record)>;
  void Listen(Listener listener) { listener_ = std::move(listener); }

  // Decides the rails of all nodes again, after the profile changed.
  void FindRailsAgain();
  // Nodes in maintenance, with reason and end; all others are not.
  void SetMaintenance(const std::map<std::string, std::string>& reasons);

  // Adds the node or replaces its snapshot; the node is connected from then on.
  NodeRecord& Put(v1::NodeSnapshot snapshot, Moment now);
  // NOT_FOUND before the first complete snapshot of the node. RESOURCE_EXHAUSTED when the snapshot
  // exceeds the bounds after the change.
  Status Change(const std::string& node, v1::SnapshotChange change, Moment now);
  // Applies a counter table or sample. Failures of CounterStream::Take, and FAILED_PRECONDITION
  // before the first complete snapshot of the node. On failure request a complete snapshot.
  Status TakeCounters(const std::string& node, const v1::CounterTable& table, Moment now);
  Status TakeCounters(const std::string& node, const v1::CounterSample& sample, Moment now);
  // The node's agent starts again with a counter table.
  void ForgetCounters(const std::string& node);
  // Call on each message of the node. True when a counter window ended, so that rules must run
  // again for the node.
  bool AdvanceRates(const std::string& node, Moment now);
  // No effect on a node that never reported. `state_since` changes only with the state.
  void MarkConnected(const std::string& node, Moment now);
  void MarkLost(const std::string& node, std::string reason, Moment now);
  // Marks connected nodes as outdated when their last report of settings is older than `age_max`.
  // The next report clears the mark. Returns the newly marked nodes.
  std::vector<std::string> FindOutdated(Duration age_max, Moment now);
  // The agent of the node exceeded a bound, or a second agent claimed its name. A node that never
  // reported is added as lost, for `reason`. True: rules must judge the node again.
  bool AddViolation(const std::string& node, const Excess& excess, std::string reason, Moment now);
  bool AddClaim(const std::string& node, std::string machine_id, Moment now);
  // Ends violations and claims older than `age`. Returns the nodes for which one ended.
  std::vector<std::string> ForgetViolations(Duration age, Moment now);
  // Adds a node from the store after a restart, as lost until its agent reports.
  void Restore(NodeRecord record, const v1::NodeMemory& memory);
  // What Restore() needs besides the snapshot.
  v1::NodeMemory MemoryOf(const NodeRecord& record) const;

  void Remove(const std::string& node);  // No effect on an unknown node.
  // The switches of InfiniBand ports, which LLDP does not know. Borrows it; nullptr: none. When it
  // has changed, call UpdateSwitches() for all nodes.
  void SetInfiniband(const InfinibandTopology* topology) { infiniband_ = topology; }
  void UpdateSwitches(const std::string& node);
  // Nodes whose rails or switches have changed without a report of theirs since the last call.
  std::vector<std::string> TakeChanged() { return std::exchange(changed_, {}); }

  const NodeRecord* Find(const std::string& node) const;  // nullptr: never reported
  const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }
  const RateHistory& history() const { return history_; }

 private:
  NodeRecord& Add(const std::string& name, Moment now);
  template <class Message>
  Status TakeMessage(const std::string& node, const Message& message, Moment now);

  void FindRails(NodeRecord& record);
  void AssignRailsOf(const std::vector<std::string>& nodes);
  bool FindSwitches(NodeRecord& record) const;
  void Enter(NodeRecord& record, v1::NodeState state, Moment now);
  void Notify(const NodeRecord& record) const {
    if (listener_) listener_(record.name, &record);
  }

  std::map<std::string, NodeRecord> nodes_;
  RateHistory history_;
  RailLayouts layouts_;
  const InfinibandTopology* infiniband_ = nullptr;
  Listener listener_;
  std::vector<std::string> changed_;
  std::uint64_t versions_ = 0;
};

}  // namespace fabric::fleet
