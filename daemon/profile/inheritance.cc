#include "daemon/profile/inheritance.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::profile {
namespace {

constexpr std::size_t kAncestorsMax = 16;

const v1::Profile* Find(std::span<const v1::Profile> known, const std::string& name) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const v1::Profile& profile) {
    return profile.name() == name;
  });
  return found == known.end() ? nullptr : &*found;
}

}  // namespace

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

Result<std::vector<const v1::Profile*>> InheritanceChain(const v1::Profile& profile,
                                                         std::span<const v1::Profile> known) {
  std::vector<const v1::Profile*> chain = {&profile};
  while (!chain.back()->inherits().empty()) {
    const v1::Profile& child = *chain.back();
    const v1::Profile* const parent = Find(known, child.inherits());
    if (parent == nullptr)
      return Status(Code::kNotFound, Format("profile {} inherits unknown profile {}", child.name(),
                                            Quoted(child.inherits())));
    if (std::find(chain.begin(), chain.end(), parent) != chain.end() ||
        chain.size() > kAncestorsMax)
      return Status(Code::kInvalidArgument,
                    Format("profile {} inherits from itself", parent->name()));
    chain.push_back(parent);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace fabric::profile
