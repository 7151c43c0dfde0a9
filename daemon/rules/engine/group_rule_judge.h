// Findings of group rules: summaries of groups, and the verdicts on members. Part of the engine.
//
// Judging has three steps: Summarize() each group that has changed, JoinSummaries() of each rule
// whose members depend on all groups, then JudgeMembers().
#pragma once

#include <vector>

#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/engine/peer_groups.h"

namespace fabric::rules {

class GroupRuleJudge {
 public:
  // Borrows all.
  GroupRuleJudge(const NodeIndex& nodes, FindingTable& findings, SlotTable& slots)
      : nodes_(nodes), findings_(findings), slots_(slots) {}

  // Judges a group as such, or finds out which members have to be judged again.
  void Summarize(PeerGroup& group);
  // A summary has changed, or a group has ended.
  void JoinSummaries(Comparison& comparison);
  void JudgeMembers();

 private:
  void JudgeGroup(PeerGroup& group);
  void Schedule(PeerGroup& group, Rejudge rejudge);
  void ScheduleChange(PeerGroup& group, const GroupSummary& before, const GroupSummary& after);
  void JudgeChangedMembers(PeerGroup& group);
  void JudgeMember(PeerGroup& group, const Ref& ref, Slot& slot);
  ValueCounts CountsOf(PeerGroup& group, bool by_name);

  const NodeIndex& nodes_;
  FindingTable& findings_;
  SlotTable& slots_;
  std::vector<PeerGroup*> scheduled_;
};

}  // namespace fabric::rules
