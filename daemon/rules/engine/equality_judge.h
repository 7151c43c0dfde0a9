// Findings of equality rules: the members that deviate from the majority of their group, or the
// group without a majority. Part of the engine.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/engine/peer_groups.h"

namespace fabric::rules {

class EqualityJudge {
 public:
  // Borrows all.
  EqualityJudge(const NodeIndex& nodes, FindingTable& findings, SlotTable& slots)
      : nodes_(nodes), findings_(findings), slots_(slots) {}

  // The group has members. Judges the group as such, and sets `to_judge` to the members whose
  // finding is new or has another text.
  void Judge(PeerGroup& group);
  // After Judge() of the group. One that has left or does not deviate has no finding. Returns the
  // units of work.
  std::uint64_t JudgeMember(PeerGroup& group, const Ref& ref);

 private:
  void PassAll(PeerGroup& group, std::size_t members);
  void ReportTie(PeerGroup& group);
  void ReportDeviating(PeerGroup& group);
  void ReportMember(PeerGroup& group, const Ref& ref);
  void FindConflicts(PeerGroup& group);
  void ReportConflicts(PeerGroup& group);
  static bool IsTied(const PeerGroup& group, ValueGroup* values);
  std::vector<v1::Subject> MembersOf(const Comparison& comparison,
                                     const std::vector<ValueGroup*>& groups) const;
  static std::vector<ValueGroup*> AllValues(const PeerGroup& group);
  std::vector<ValueSummary> LargestValues(PeerGroup& group);
  std::vector<ValueSummary> Summaries(PeerGroup& group, std::vector<ValueGroup*> largest);

  const NodeIndex& nodes_;
  FindingTable& findings_;
  SlotTable& slots_;
};

}  // namespace fabric::rules
