// What changed on nodes, written down as reports come. A report costs what it touches, and nothing
// when it has counters alone: what those are is kept once an hour.
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

  // What a report changes in what is known of the node, before it is applied.
  static facts::Change Compare(const v1::NodeSnapshot& before, const v1::SnapshotChange& report,
                               Moment now);
  static facts::Change Compare(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after,
                               Moment now);

  // Keeps it; begins the log of a node that is new.
  void Write(const std::string& node, const facts::Change& change, Moment now);

  // The node has been here before this process: its counters were kept then, and all nodes that
  // come back shall not be written down at once.
  void SetKnown(const std::string& node, Moment now);
  // Keeps what the node's counters are, unless that was done a short while ago.
  void Mark(const v1::NodeSnapshot& snapshot, Moment now);

  // What differs since `seconds` ago from what is now, and since when that is known.
  Status Since(const v1::NodeSnapshot& snapshot, std::uint32_t seconds, Moment now,
               v1::DiffNodeResponse& response);

 private:
  Outbox& outbox_;
  std::set<std::string> begun_;
  std::map<std::string, SteadyTime> marked_;
};

}  // namespace fabric::control
