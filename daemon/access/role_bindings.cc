#include "daemon/access/role_bindings.h"

#include <array>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "daemon/access/access_file.h"
#include "daemon/profile/profile.h"
#include "proto/labels.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

constexpr std::array<std::string_view, 5> kBindingKeys = {"identity", "roles", "nodes", "rails",
                                                          "labels"};

bool HasScope(const v1::ScopedRole& scope) {
  return !scope.nodes().empty() || !scope.rails().empty() || !scope.labels().empty();
}

// A role of agents or of metrics is not about nodes and rails.
Status ReadScope(const FileEntry& entry, const std::vector<v1::Role>& roles,
                 v1::ScopedRole& scope) {
  if (entry.Has("nodes")) {
    ASSIGN_OR_RETURN(*scope.mutable_nodes(), entry.Text("nodes"));
  }
  if (entry.Has("rails")) {
    ASSIGN_OR_RETURN(const std::vector<std::uint32_t> rails, entry.Numbers("rails"));
    scope.mutable_rails()->Assign(rails.begin(), rails.end());
  }
  if (entry.Has("labels")) {
    ASSIGN_OR_RETURN(*scope.mutable_labels(), entry.Text("labels"));
    const Status status = LabelSelector::Parse(scope.labels()).status();
    if (!status.ok()) return entry.Error("labels", status.message());
  }
  if (!HasScope(scope)) return {};
  for (const v1::Role role : roles)
    if (role != v1::ROLE_OPERATOR)
      return entry.Error(
          "roles", Format("expected operator with nodes, rails or labels, saw {}", RoleName(role)));
  return {};
}

}  // namespace

bool RoleBindings::Binding::IsScoped() const {
  return HasScope(scope);
}

Result<RoleBindings> RoleBindings::Parse(std::string_view yaml, std::string_view file) {
  RoleBindings bindings;
  const Status status = ReadEntries(yaml, file, [&](const FileEntry& entry) -> Status {
    RETURN_IF_ERROR(entry.CheckKeys(kBindingKeys));
    Binding binding;
    ASSIGN_OR_RETURN(binding.identity, entry.Text("identity"));
    ASSIGN_OR_RETURN(binding.roles, entry.Roles("roles"));
    RETURN_IF_ERROR(ReadScope(entry, binding.roles, binding.scope));
    bindings.bindings_.push_back(std::move(binding));
    return {};
  });
  if (!status.ok()) return status;
  return bindings;
}

std::vector<v1::Role> RoleBindings::RolesOf(std::string_view identity) const {
  std::vector<v1::Role> roles;
  for (const Binding& binding : bindings_)
    if (!binding.IsScoped() && profile::MatchesPattern(binding.identity, identity))
      roles.insert(roles.end(), binding.roles.begin(), binding.roles.end());
  return roles;
}

void RoleBindings::AddScoped(std::string_view identity, v1::Identity& out) const {
  for (const Binding& binding : bindings_) {
    if (!binding.IsScoped() || !profile::MatchesPattern(binding.identity, identity)) continue;
    for (const v1::Role role : binding.roles) {
      v1::ScopedRole& scoped = *out.add_scoped_roles();
      scoped = binding.scope;
      scoped.set_role(role);
    }
  }
}

}  // namespace fabric::access
