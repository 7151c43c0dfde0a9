// The latest state of every node that has ever reported.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/counters.pb.h"
#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

struct NodeRecord {
  std::string name;
  v1::NodeState state = v1::NODE_STATE_CONNECTED;
  Moment state_since;
  Moment reported_at;
  std::string lost_reason;
  v1::NodeSnapshot snapshot;
};

// A value without threads: its owner locks.
class Fleet {
 public:
  // Adds the node or replaces its snapshot; the node is connected from then on.
  NodeRecord& Put(const v1::NodeSnapshot& snapshot, Moment now);
  // Replaces the counters of a node that has reported; nothing for others.
  void SetCounters(const std::string& node, const v1::CounterTable& table);

  // NOT_FOUND when no whole snapshot of the node has come yet.
  Status Change(const std::string& node, const v1::SnapshotChange& change, Moment now);
  // Both leave a node alone that has never reported, and the moment when the state is not new.
  void MarkConnected(const std::string& node, Moment now);
  void MarkLost(const std::string& node, std::string reason, Moment now);
  // From the store after a restart: known, and lost until its agent reports.
  void Restore(NodeRecord record);

  const NodeRecord* Find(const std::string& node) const;  // nullptr: never heard of
  const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }

 private:
  std::map<std::string, NodeRecord> nodes_;
};

}  // namespace fabric::fleet
