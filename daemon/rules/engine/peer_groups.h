// Data of the peer comparison: who has which value in which group. Part of the engine.
//
//   Comparison   one equality rule or group rule
//   PeerGroup    the members that it compares with each other: the ports of rail 3
//   ValueGroup   those of them with one value: the ports of rail 3 with MTU 9000
//   Slot         the position of a member in its value group
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/digest.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

struct PeerGroup;

struct ValueGroup {
  PeerGroup* peers = nullptr;
  std::string text;  // That `value` borrows
  Value value;
  std::vector<Ref> members;
  std::optional<Ref> first;  // Of the judged members, by name; no value: not known
  std::size_t silent = 0;    // Members that are not judged
  bool unread = false;       // PeerGroup::unread

  std::size_t judged() const { return members.size() - silent; }
};

struct Slot {
  ValueGroup* group = nullptr;  // nullptr: the member does not take part
  std::uint32_t index = 0;      // In ValueGroup::members
  bool passed = false;          // By a group rule
  // Of such rules: is not judged. It breaks a tie if the node is lost or the port is down; an
  // unread value can be any.
  bool silent = false;
};

struct Comparison {
  const Rule* rule = nullptr;
  const EqualityRule* equality = nullptr;  // One of the two
  const GroupRule* group_rule = nullptr;
  bool of_nodes = false;
  std::size_t rule_number = 0;
  std::size_t number = 0;          // Among the comparisons of nodes, or of ports
  std::size_t group_function = 0;  // Index of the function that returns the group of a member
  std::unordered_map<Group, std::unique_ptr<PeerGroup>, HashGroup> groups;
  // The value group that the previous member with the same port index has joined: usually that of
  // the next member as well.
  std::vector<ValueGroup*> last_joined;
  GroupSummary joined_summary;     // With GroupRule::of_all_groups
  bool summaries_changed = false;  // Since it was joined
};

struct PeerGroup {
  Comparison* comparison = nullptr;
  std::string like;  // That `key` borrows
  Group key;
  std::unordered_map<Value, std::unique_ptr<ValueGroup>, HashValue> values;
  std::size_t members = 0;  // Of `values`
  // Of an equality rule, or a group rule by majority: members whose value could not be read.
  // nullptr: none so far.
  std::unique_ptr<ValueGroup> unread;
  std::size_t all() const { return members + (unread ? unread->members.size() : 0); }

  // Changes since the last judgment.
  bool waiting = false;
  bool members_changed = false;
  std::vector<Ref> touched;  // Members that have joined or changed

  // The last judgment.
  bool judged = false;
  Outcome outcome;                     // Passes, and findings about the group itself
  std::map<Ref, Ids> member_findings;  // Of members that have findings
  ValueGroup* majority = nullptr;      // Of an equality rule; nullptr: none

  // Members to judge again, by the present state of the group.
  std::vector<Ref> to_judge;
  bool queued = false;  // For these

  // Of an equality rule: what the findings say.
  std::string basis;
  std::optional<Ref> example;  // The member of the majority that others are compared with
  std::vector<Ref> shown;      // Members named by a finding about the group itself
  // Values that cannot be compared with the majority's, and the most frequent one from which each
  // differs, if it is at least as frequent.
  std::map<ValueGroup*, ValueGroup*> conflicts;

  // Of a group rule.
  GroupSummary summary;
  std::size_t size_bound = 0;  // No value group has more members; see LargestOf()
  ValueGroup* largest = nullptr;
};

// The slots of all members.
class SlotTable {
 public:
  // Number of comparisons of nodes and of ports. Before the first node.
  void SetComparisons(std::size_t of_nodes, std::size_t of_ports);
  // Makes slots for the node and its ports. The number of ports must not change.
  void Add(std::uint32_t node, std::uint32_t ports);
  void Remove(std::uint32_t node) { rows_[node] = {}; }

  bool Has(std::uint32_t node) const { return node < rows_.size() && !rows_[node].slots.empty(); }
  std::uint32_t Ports(std::uint32_t node) const { return rows_[node].ports; }
  Slot& At(const Comparison& comparison, const Ref& ref);
  const Slot& At(const Comparison& comparison, const Ref& ref) const;
  // nullptr when the member has left the group.
  Slot* Find(const PeerGroup& group, const Ref& ref);

 private:
  struct Row {
    std::uint32_t ports = 0;
    std::vector<Slot> slots;  // Of the node, then port after port
  };
  std::size_t IndexOf(const Comparison& comparison, const Ref& ref) const;

  std::size_t of_nodes_ = 0;
  std::size_t of_ports_ = 0;
  std::vector<Row> rows_;  // By number of node
};

// The first judged member, by name. There must be one.
Ref FirstOf(ValueGroup& values, const NodeIndex& nodes, const SlotTable& slots);

}  // namespace fabric::rules
