// Roles of identities that a site names itself. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

// - {identity: "spiffe://example.org/ops/*", roles: [operator]}
// - {identity: "oidc-group:rack-1", roles: [operator], nodes: "gpu-1*", rails: [0, 1]}
// - {identity: "oidc-group:team-a", roles: [operator], labels: "pool=h100,rack!=r12"}
class RoleBindings {
 public:
  RoleBindings() = default;
  // INVALID_ARGUMENT with file, position, expected and seen.
  static Result<RoleBindings> Parse(std::string_view yaml, std::string_view file);

  // Of all entries that match; `*` matches any text, `?` any character.
  // Those for the whole fabric.
  std::vector<v1::Role> RolesOf(std::string_view identity) const;
  // Adds those for a part of it.
  void AddScoped(std::string_view identity, v1::Identity& out) const;
  std::size_t size() const { return bindings_.size(); }

 private:
  struct Binding {
    std::string identity;  // Pattern
    std::vector<v1::Role> roles;
    v1::ScopedRole scope;  // Without a role
    bool IsScoped() const;
  };
  std::vector<Binding> bindings_;
};

}  // namespace fabric::access
