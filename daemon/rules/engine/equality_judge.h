// Findings of equality rules: the members that deviate from the majority of their group, or the
// group without a majority. Part of the engine.
#pragma once

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

  // The group has members.
  void Judge(PeerGroup& group);

 private:
  void PassAll(PeerGroup& group, std::size_t members);
  void ReportTie(PeerGroup& group);
  void ReportDeviating(PeerGroup& group);
  void ReportMember(PeerGroup& group, const Ref& ref);
  std::vector<v1::Subject> MembersOf(const PeerGroup& group) const;
  std::vector<ValueSummary> LargestValues(PeerGroup& group);

  const NodeIndex& nodes_;
  FindingTable& findings_;
  SlotTable& slots_;
};

}  // namespace fabric::rules
