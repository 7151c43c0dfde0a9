// The rules at work on a fleet that changes: what one change of a node opens, changes and ends.
//
// A value without clock, thread or lock: its owner locks. Gives what Evaluate() gives for the same
// nodes, whatever the order in which they came and changed.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet.h"
#include "daemon/profile/profile.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

// What became of the findings since the last delta.
struct Delta {
  v1::VerdictCounts counts;        // Of the whole fleet, now
  std::vector<v1::Finding> found;  // New, or not as before in anything, read_at too; by id
  std::vector<std::string> gone;   // Ids of those that are found no more; sorted
};

class Engine {
 public:
  explicit Engine(const profile::Profile& profile = {}) : profile_(profile) {}

  // A rule beside AllRules(). Before the first node.
  void AddNodeRule(NodeRule rule) { own_.push_back(std::move(rule)); }

  // The node is there, or has changed in anything. The record is borrowed until Remove(), and may
  // change in place when Put() follows before anything else is asked of the engine.
  void Put(const fleet::NodeRecord& record);
  // The node is lost; one that is not known is left alone. Does not look at the record any more.
  void Remove(const std::string& node);

  // What has changed since the last call.
  Delta Take();
  // All there is now. What Take() gives is not touched by it.
  Evaluation All();

  std::size_t nodes() const { return records_.size(); }

 private:
  void Judge();

  const profile::Profile profile_;
  std::vector<NodeRule> own_;
  std::map<std::string, const fleet::NodeRecord*> records_;
  bool changed_ = false;
  v1::VerdictCounts counts_;
  std::map<std::string, v1::Finding> findings_;
  std::set<std::string> news_;  // Ids of findings that came, went or changed since Take()
};

}  // namespace fabric::rules
