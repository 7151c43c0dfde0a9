#include "daemon/rules/group_rule.h"

namespace fabric::rules {

const ValueCounts::Entry* ValueCounts::Majority() const {
  if (values.empty()) return nullptr;
  if (values.size() > 1 && values[0].members == values[1].members) return nullptr;
  return &values[0];
}

bool operator==(const GroupSummary::Shown& a, const GroupSummary::Shown& b) {
  return ShareKey(a.count, a.of) == ShareKey(b.count, b.of);
}

std::string ToText(const GroupSummary::Shown& shown) {
  return Share(shown.count, shown.of);
}

// Has no other fact: each change of a fact causes all members of the group to be judged again.
GroupSummary MajorityOf(const ValueCounts& counts) {
  GroupSummary summary;
  if (const ValueCounts::Entry* most = counts.Majority())
    summary.facts.push_back(most->value.number);
  return summary;
}

bool Deviates(const GroupSummary& majority, std::uint64_t value) {
  return majority.facts.empty() || majority.facts[0] != value;
}

}  // namespace fabric::rules
