// Findings of group rules: summaries of groups, and the verdicts on members. Part of the engine.
//
// Judging has three steps: Summarize() each group that has changed, JoinSummaries() of each rule
// whose members depend on all groups, then JudgeMember() for what they have added to `to_judge`.
#pragma once

#include <cstdint>
#include <functional>

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
  // A summary has changed, or a group has ended. Calls `changed` with groups that have members to
  // judge.
  void JoinSummaries(Comparison& comparison, const std::function<void(PeerGroup&)>& changed);
  // Ignores one that has left. Returns the units of work.
  std::uint64_t JudgeMember(PeerGroup& group, const Ref& ref);

 private:
  void JudgeGroup(PeerGroup& group);
  static void ScheduleAll(PeerGroup& group);
  static void ScheduleChange(PeerGroup& group, const GroupSummary& before,
                             const GroupSummary& after);
  ValueCounts CountsOf(PeerGroup& group, bool by_name);

  const NodeIndex& nodes_;
  FindingTable& findings_;
  SlotTable& slots_;
};

}  // namespace fabric::rules
