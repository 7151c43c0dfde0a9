#include "daemon/profile/profile.h"

#include <google/protobuf/descriptor.h>

#include "daemon/profile/inheritance.h"

namespace fabric::profile {

Result<Profile> Profile::Make(const v1::Profile& profile, std::span<const v1::Profile> known) {
  ASSIGN_OR_RETURN(const std::vector<const v1::Profile*> chain, InheritanceChain(profile, known));
  Profile made;
  made.name_ = profile.name();
  for (const v1::Profile* const each : chain) {
    Override(made.expect_, each->expect());
    made.overrides_.insert(made.overrides_.end(), each->overrides().begin(),
                           each->overrides().end());
  }
  return made;
}

Overrides Profile::Match(const Traits& traits) const {
  Overrides matching;
  for (std::size_t i = 0; i < overrides_.size(); ++i)
    if (Matches(overrides_[i].where(), traits)) matching.push_back(i);
  return matching;
}

v1::Expectations Profile::Expect(const Overrides& overrides) const {
  v1::Expectations expect = expect_;
  for (const std::size_t i : overrides) Override(expect, overrides_[i].expect());
  return expect;
}

void Override(v1::Expectations& base, const v1::Expectations& over) {
  // Clear first: MergeFrom() appends to lists.
  const auto* const reflection = over.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> set_fields;
  reflection->ListFields(over, &set_fields);
  for (const auto* field : set_fields) reflection->ClearField(&base, field);
  base.MergeFrom(over);
  // Without ECN there are no CNPs: their settings in an inherited profile do not apply.
  if (!over.has_ecn() || over.ecn()) return;
  if (!over.has_cnp_dscp()) base.clear_cnp_dscp();
  if (!over.has_cnp_priority()) base.clear_cnp_priority();
  if (!over.has_cnp_strict()) base.clear_cnp_strict();
  if (!over.has_cnp_max_percent()) base.clear_cnp_max_percent();
}

bool MatchesPattern(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace fabric::profile
