#include "daemon/access/scopes.h"

#include <algorithm>

#include "base/text.h"
#include "daemon/profile/profile.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

bool Grants(const v1::ScopedRole& scoped, const Need& need) {
  return std::ranges::any_of(need.any_of,
                             [&](v1::Role needed) { return Includes(scoped.role(), needed); });
}

// No selector covers a node without labels. Bindings have valid selectors only.
bool CoversLabels(const std::string& selector, const Part& part) {
  if (selector.empty()) return true;
  if (part.node.empty() || part.labels.empty()) return false;
  const auto parsed = LabelSelector::Parse(selector);
  return parsed.ok() && parsed->Matches(part.labels);
}

bool Covers(const v1::ScopedRole& scoped, const Part& part) {
  const bool node = scoped.nodes().empty() ||
                    (!part.node.empty() && profile::MatchesPattern(scoped.nodes(), part.node));
  const bool rails =
      scoped.rails().empty() ||
      (!part.rails.empty() && std::ranges::all_of(part.rails, [&](std::uint32_t rail) {
        return std::ranges::find(scoped.rails(), rail) != scoped.rails().end();
      }));
  return node && rails && CoversLabels(scoped.labels(), part);
}

std::string TextOf(const Part& part) {
  return Format("{}{}, {}", part.node.empty() ? "all nodes" : "node " + Quoted(part.node),
                part.labels.empty() ? "" : " with " + Quoted(LabelsText(part.labels)),
                part.rails.empty() ? "all rails" : "rails " + ListOfNumbers(part.rails));
}

}  // namespace

bool HasScoped(const v1::Identity& identity, const Need& need) {
  return std::ranges::any_of(identity.scoped_roles(),
                             [&](const auto& scoped) { return Grants(scoped, need); });
}

Status CheckScopes(const v1::Identity& identity, const Need& need, std::span<const Part> parts) {
  if (std::ranges::find(need.any_of, v1::ROLE_VIEWER) != need.any_of.end()) return {};
  for (const Part& part : parts) {
    std::string held;
    bool covered = false;
    for (const v1::ScopedRole& scoped : identity.scoped_roles()) {
      if (!Grants(scoped, need)) continue;
      covered |= Covers(scoped, part);
      held += (held.empty() ? "" : "; ") + ScopedRoleText(scoped);
    }
    if (!covered)
      return {Code::kPermissionDenied, Format("{}: {} has role {}; the request is about {}",
                                              need.what, identity.name(), held, TextOf(part))};
  }
  return {};
}

}  // namespace fabric::access
