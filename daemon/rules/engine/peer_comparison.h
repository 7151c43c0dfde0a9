// Equality rules and group rules over a changing fleet. Part of the engine.
//
// Each member that takes part is in a value group. A change of a node moves its own members between
// value groups. Only groups in which a member moved, or a deviating member changed, are judged
// again: a group with one value passes as a whole.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "daemon/rules/engine/equality_judge.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/group_rule_judge.h"
#include "daemon/rules/engine/missing_inputs.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/engine/peer_groups.h"
#include "daemon/rules/engine/work.h"

namespace fabric::rules {

class PeerComparison {
 public:
  // For all rules with equality_rules or a group_rule. Borrows both.
  PeerComparison(const NodeIndex& nodes, FindingTable& findings);
  PeerComparison(const PeerComparison&) = delete;
  PeerComparison& operator=(const PeerComparison&) = delete;

  // The node is new or has changed. Adds the verdicts by a profile, which do not depend on peers,
  // and the rules with such a pass.
  // `missing`: what the rules miss on the node.
  void Put(std::uint32_t node, const MissingInputs& missing, Verdicts& out, RuleSet& passing);
  // The node is lost: its last values still break ties between others.
  void PutSilent(std::uint32_t node);
  void Remove(std::uint32_t node);
  // Updates the findings after these changes, as far as the work goes. False: call it again, also
  // after other changes.
  bool Judge(WorkLeft& work);
  // Adds the rules with a pass.
  void AddPassing(RuleSet& rules) const;
  // Adds the rules that judge the node or its ports.
  void AddJudging(std::uint32_t node, RuleSet& rules) const;

 private:
  using GroupFunction = std::optional<Group> (*)(const Member&);
  // The group of the member that is put, by one function.
  struct KnownGroup {
    bool known = false;
    std::optional<Group> group;
  };

  void Add(Comparison comparison, GroupFunction group);
  // Verdicts by a profile, and the rules with a pass.
  struct ByProfile {
    const MissingInputs& missing;
    Verdicts& verdicts;
    RuleSet& passing;
  };
  static std::optional<Value> ValueOf(const Comparison& comparison, const Member& member,
                                      const ByProfile& out);
  // Without `out`, the member is silent.
  void PutNode(std::uint32_t node, const ByProfile* out);
  void PutMember(const Ref& ref, std::vector<Comparison*>& comparisons, const ByProfile* out);
  const std::optional<Group>& GroupOf(const Comparison& comparison, const Member& member);
  static ValueGroup& ValuesFor(Comparison& comparison, const Ref& ref, const Group& key,
                               const Value& value);
  static PeerGroup& GroupIn(Comparison& comparison, const Group& key);
  static ValueGroup& ValuesIn(PeerGroup& group, const Value& value);
  static ValueGroup& UnreadIn(PeerGroup& group);
  void Join(ValueGroup& values, const Ref& ref, bool silent, Slot& slot);
  void Leave(const Ref& ref, Slot& slot);
  void Touch(ValueGroup& values, const Ref& ref);
  void Wait(PeerGroup& group);
  void CloseEmptyGroups();
  void JudgeGroup(PeerGroup& group);
  void Queue(PeerGroup& group);
  bool JudgeMembers(WorkLeft& work);

  const NodeIndex& nodes_;
  FindingTable& findings_;
  std::deque<Comparison> comparisons_;
  std::vector<Comparison*> of_nodes_;
  std::vector<Comparison*> of_ports_;
  std::vector<GroupFunction> group_functions_;  // Of all comparisons, without duplicates
  std::vector<KnownGroup> known_groups_;        // Of one member, by function
  SlotTable slots_;
  std::vector<PeerGroup*> waiting_;  // To be judged as such
  std::vector<PeerGroup*> queue_;    // With members to judge
  EqualityJudge equality_judge_;
  GroupRuleJudge group_rule_judge_;
};

}  // namespace fabric::rules
