#include "daemon/profile/profile.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "base/text.h"

namespace fabric::profile {
namespace {

constexpr std::size_t kAncestorsMax = 16;

bool MatchesAny(const google::protobuf::RepeatedPtrField<std::string>& patterns,
                std::string_view text) {
  if (patterns.empty()) return true;
  return !text.empty() &&
         std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesPattern(pattern, text); });
}

bool Matches(const v1::Selector& where, const Traits& traits) {
  const auto& rails = where.rails();
  const bool rail =
      rails.empty() ||
      (traits.rail && std::find(rails.begin(), rails.end(), traits.rail->value()) != rails.end());
  return rail && MatchesAny(where.nodes(), traits.node) &&
         MatchesAny(where.devices(), traits.device) && MatchesAny(where.netdevs(), traits.netdev) &&
         MatchesAny(where.models(), traits.model) && MatchesAny(where.drivers(), traits.driver);
}

const v1::Profile* Find(std::span<const v1::Profile> known, const std::string& name) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const v1::Profile& profile) {
    return profile.name() == name;
  });
  return found == known.end() ? nullptr : &*found;
}

}  // namespace

Result<Profile> Profile::Make(const v1::Profile& profile, std::span<const v1::Profile> known) {
  std::vector<const v1::Profile*> line = {&profile};
  while (!line.back()->inherits().empty()) {
    const v1::Profile& child = *line.back();
    const v1::Profile* const parent = Find(known, child.inherits());
    if (parent == nullptr)
      return Status(Code::kNotFound, Format("profile {} inherits {}: there is no such profile",
                                            child.name(), Quoted(child.inherits())));
    if (std::find(line.begin(), line.end(), parent) != line.end() || line.size() > kAncestorsMax)
      return Status(Code::kInvalidArgument,
                    Format("profile {} inherits from itself", parent->name()));
    line.push_back(parent);
  }
  Profile made;
  made.name_ = profile.name();
  for (auto each = line.rbegin(); each != line.rend(); ++each) {
    Override(made.expect_, (*each)->expect());
    made.overrides_.insert(made.overrides_.end(), (*each)->overrides().begin(),
                           (*each)->overrides().end());
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
  // Lists are replaced too, not added to.
  const auto* const reflection = over.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> said;
  reflection->ListFields(over, &said);
  for (const auto* field : said) reflection->ClearField(&base, field);
  base.MergeFrom(over);
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
