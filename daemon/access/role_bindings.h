// Roles of identities that a site names itself. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

// - {identity: "spiffe://example.org/ops/*", roles: [operator]}
class RoleBindings {
 public:
  RoleBindings() = default;
  // INVALID_ARGUMENT with file, position, expected and seen.
  static Result<RoleBindings> Parse(std::string_view yaml, std::string_view file);

  // Of all entries that match; `*` matches any text, `?` any character.
  std::vector<v1::Role> RolesOf(std::string_view identity) const;
  std::size_t size() const { return bindings_.size(); }

 private:
  struct Binding {
    std::string identity;  // Pattern
    std::vector<v1::Role> roles;
  };
  std::vector<Binding> bindings_;
};

}  // namespace fabric::access
