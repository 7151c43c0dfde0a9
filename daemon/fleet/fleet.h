// The latest state of every node that has ever reported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/fleet/counter_rates.h"
#include "daemon/fleet/counter_stream.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

struct NodeRecord {
  std::string name;
  v1::NodeState state = v1::NODE_STATE_CONNECTED;
  Moment state_since;
  Moment reported_at;
  Moment inspected_at;  // When its settings were last told, or told to be as they were
  std::string lost_reason;
  v1::NodeSnapshot snapshot;
  CounterStream counters;  // Of the snapshot, as far as they came in samples
  Motion motion;           // How these move
  bool outdated = false;   // Connected, and its settings were told too long ago
  // Another one each time when the snapshot has changed in anything but counters; 0: not known.
  std::uint64_t version = 0;

  // Whether what its snapshot says of its settings can be judged.
  bool known() const { return state == v1::NODE_STATE_CONNECTED && !outdated; }
};

// A value without threads: its owner locks.
class Fleet {
 public:
  // Adds the node or replaces its snapshot; the node is connected from then on.
  NodeRecord& Put(const v1::NodeSnapshot& snapshot, Moment now);
  // NOT_FOUND when no whole snapshot of the node has come yet.
  Status Change(const std::string& node, const v1::SnapshotChange& change, Moment now);
  // Table or sample of the node's counters. Failures of CounterStream::Take, and
  // FAILED_PRECONDITION when no whole snapshot of the node has come yet: in both cases one has to
  // be asked for.
  Status TakeCounters(const std::string& node, const v1::CounterTable& table, Moment now);
  Status TakeCounters(const std::string& node, const v1::CounterSample& sample, Moment now);
  // The node is heard of, with or without counters: true when a window of its counters has ended,
  // so that rules may say something else of it than before.
  bool AdvanceMotion(const std::string& node, Moment now);
  // Both leave a node alone that has never reported, and the moment when the state is not new.
  void MarkConnected(const std::string& node, Moment now);
  void MarkLost(const std::string& node, std::string reason, Moment now);
  // Connected nodes whose settings were told longer than `age_max` ago become outdated until they
  // are told again. Returns those that are it since this call.
  std::vector<std::string> FindOutdated(Duration age_max, Moment now);
  // From the store after a restart: known, and lost until its agent reports.
  void Restore(NodeRecord record);

  const NodeRecord* Find(const std::string& node) const;  // nullptr: never heard of
  const std::map<std::string, NodeRecord>& nodes() const { return nodes_; }

 private:
  template <class Message>
  Status TakeMessage(const std::string& node, const Message& message, Moment now);

  std::map<std::string, NodeRecord> nodes_;
  std::uint64_t versions_ = 0;
};

}  // namespace fabric::fleet
