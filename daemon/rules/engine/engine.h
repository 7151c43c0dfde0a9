// The rules at work on a fleet that changes: what a change of a node opens, changes and ends.
// docs/design/engine.md says how. A value without clock, thread or lock: its owner locks.
//
// The outcome is that of the nodes as they are now, whatever the order in which they came, changed
// and went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/fleet/fleet.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/profile/profile.h"
#include "daemon/rules/causes/grouping.h"
#include "daemon/rules/engine/announcements.h"
#include "daemon/rules/engine/groups.h"
#include "daemon/rules/engine/holders.h"
#include "daemon/rules/engine/ledger.h"
#include "daemon/rules/engine/parts.h"
#include "daemon/rules/engine/roster.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

class Engine {
 public:
  explicit Engine(profile::Profile profile = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // A rule beside AllRules(). Before the first node.
  void AddNodeRule(NodeRule rule) { own_.push_back(std::move(rule)); }

  // The node is there, or has changed in anything. The record is borrowed until Remove(); it may
  // change in place when Put() follows before anything else is asked of the engine. One of the
  // version that it had before is judged by its counters alone.
  void Put(const fleet::NodeRecord& record);
  // The same, with what a profile expects of it already found out; that is borrowed too.
  void Put(fleet::NodeView view);
  // The node is lost; one that is not known is left alone. Only the record's name is looked at.
  void Remove(const std::string& node);

  // What has changed since the last call.
  Delta Take();
  // All there is now. What Take() gives is not touched by it.
  Evaluation All();

  std::size_t nodes() const { return roster_.size(); }

 private:
  // What was found of a node alone.
  struct Own {
    Ids ids;
    std::uint64_t passes = 0;
  };
  struct Node {
    Own of_settings;
    Own of_counters;  // And by rules of operators, which may read these
    const fleet::NodeRecord* record = nullptr;
    std::uint64_t version = 0;  // Of the record
  };
  // What rules find of a node alone.
  struct Found {
    std::vector<v1::Finding> findings;
    std::uint64_t passes = 0;

    template <class AnyRule, class Evaluate>
    void Take(const AnyRule& rule, const Evaluate& evaluate, const fleet::NodeView& node);
  };
  std::uint32_t NumberOf(const fleet::NodeRecord& record);
  void PutAll(std::uint32_t node);
  void PutCounters(std::uint32_t node);
  void JudgeCounters(std::uint32_t node);
  void Note(Own& own, Found found);
  void Judge();
  void JudgeAlone();

  const profile::Profile profile_;
  fleet::ExpectationTable expectations_;
  std::vector<const Rule*> node_rules_;  // But for these:
  std::vector<const Rule*> counter_rules_;
  std::vector<const Rule*> alone_rules_;
  std::vector<NodeRule> own_;
  Roster roster_;
  Ledger ledger_;
  Grouping grouping_;
  Groups groups_;
  Holders holders_;
  Announcements announcements_;
  Parts parts_;
  std::vector<Node> nodes_;  // By number
  Own alone_;
  bool changed_ = false;
};

}  // namespace fabric::rules
