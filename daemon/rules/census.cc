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

// Whether there is one value alone; the majority's, if there is one.
Survey MajorityOf(const Tally& tally) {
  Survey survey{.facts = {tally.camps.size() > 1 ? 0U : 1U}, .shown = {}};
  if (const Tally::Camp* most = tally.Majority()) survey.facts.push_back(most->value.number);
  return survey;
}

bool Deviates(const Survey& majority, std::uint64_t value) {
  if (majority.facts[0] != 0) return false;
  return majority.facts.size() < 2 || majority.facts[1] != value;
}

}  // namespace fabric::rules
