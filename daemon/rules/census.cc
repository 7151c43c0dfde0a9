#include "daemon/rules/census.h"

namespace fabric::rules {

const Tally::Camp* Tally::Majority() const {
  if (camps.empty()) return nullptr;
  if (camps.size() > 1 && camps[0].members == camps[1].members) return nullptr;
  return &camps[0];
}

bool operator==(const Survey::Shown& a, const Survey::Shown& b) {
  return ShareKey(a.count, a.of) == ShareKey(b.count, b.of);
}

std::string ToText(const Survey::Shown& shown) {
  return Share(shown.count, shown.of);
}

// The majority's value, if there is one: nothing else, since all who have it are judged again when
// this changes. Where there is one value alone it is the majority's.
Survey MajorityOf(const Tally& tally) {
  Survey survey;
  if (const Tally::Camp* most = tally.Majority()) survey.facts.push_back(most->value.number);
  return survey;
}

bool Deviates(const Survey& majority, std::uint64_t value) {
  return majority.facts.empty() || majority.facts[0] != value;
}

}  // namespace fabric::rules
