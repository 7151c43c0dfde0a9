// History of the settings and counters of nodes, in the store. Setting changes are stored with each
// report, counters once an hour.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "daemon/control/outbox.h"
#include "daemon/snapshot_diff/history.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

class NodeHistory {
 public:
  explicit NodeHistory(Outbox& outbox) : outbox_(outbox) {}

  // The settings that a report changes. Call it before the report is applied.
  static snapshot_diff::Change Compare(const v1::NodeSnapshot& before,
                                       const v1::SnapshotChange& report, Moment now);
  static snapshot_diff::Change Compare(const v1::NodeSnapshot& before,
                                       const v1::NodeSnapshot& after, Moment now);

  // Stores the change; starts the history of a new node.
  void Write(const std::string& node, const snapshot_diff::Change& change, Moment now);

  // The node is known from an earlier run: spreads the next storing of its counters over time, so
  // that not all nodes are stored at once.
  void SetKnown(const std::string& node, Moment now);
  // The node was removed, and its history with it.
  void Forget(const std::string& node);
  // Stores the node's counters, unless that was done within the hour.
  void Mark(const v1::NodeSnapshot& snapshot, Moment now);

  // Differences between now and `seconds` ago, and the time since which they are known.
  Status Since(const v1::NodeSnapshot& snapshot, std::uint32_t seconds, Moment now,
               v1::DiffNodeResponse& response);

 private:
  Outbox& outbox_;
  std::set<std::string> begun_;
  std::map<std::string, SteadyTime> marked_;
};

}  // namespace fabric::control
