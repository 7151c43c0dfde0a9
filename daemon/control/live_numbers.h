// Numbers about the fleet, kept up to date with each change of a node or a finding. A change costs
// the size of what changed, not the size of the fleet. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "daemon/control/fleet_numbers.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

// Open findings with the verdict FAIL, except those that another one explains: one cause is one
// alert.
bool CountsAsOpen(const v1::Finding& finding);

class LiveNumbers {
 public:
  // `start`: what does not change, and the rules, with 0.
  explicit LiveNumbers(FleetNumbers start) : totals_(std::move(start)) {}

  // The state of the node, its ports or its place in the topology changed.
  void PutNode(const fleet::NodeRecord& record, const fleet::TopologyCoverage& cover)
      EXCLUDES(mutex_);
  void RemoveNode(const std::string& name) EXCLUDES(mutex_);
  // `change`: 1 when the finding is added, -1 when it is removed, as it was when it was added.
  void CountFinding(const v1::Finding& finding, int change) EXCLUDES(mutex_);
  // `reason`: the name of a bound or of a status code.
  void CountRefused(std::string_view reason) EXCLUDES(mutex_);
  // Replaces the numbers that do not depend on nodes and findings; keeps the others.
  void SetOthers(FleetNumbers others) EXCLUDES(mutex_);

  FleetNumbers Read() const EXCLUDES(mutex_);
  fleet::TopologyCoverage cover() const EXCLUDES(mutex_);
  // Reason of the last failed write to the store.
  std::string store_failure() const EXCLUDES(mutex_);

 private:
  struct RailPort {
    std::uint32_t rail = 0;
    v1::PortState state = v1::PORT_STATE_UNSPECIFIED;
    std::uint64_t rate_bps = 0;   // 0: not known, or not active
    std::uint32_t mtu_bytes = 0;  // Likewise
  };

  struct Node {
    bool known = false;  // Else it has findings only.
    bool connected = false;
    std::map<v1::PortState, std::uint32_t> ports = {};  // Of a connected node
    std::vector<RailPort> rails = {};                   // Likewise
    fleet::TopologyCoverage cover = {};
    FindingCounts findings = {};
  };
  static std::vector<RailPort> RailPortsOf(const fleet::NodeRecord& record);
  void CountRails(const Node& node, int change) REQUIRES(mutex_);
  void Subtract(Node& node) REQUIRES(mutex_);
  void CountFor(const std::string& name, const v1::Finding& finding, int change) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, Node> nodes_ GUARDED_BY(mutex_);
  FleetNumbers totals_ GUARDED_BY(mutex_);  // Without nodes
};

}  // namespace fabric::control
