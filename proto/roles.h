// Names of roles, and the line of a bearer token in the file of fabricd's setting tokens. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/access.pb.h"

namespace fabric {

// "operator"
std::string RoleName(v1::Role role);
// "operator, metrics"; "no role"
std::string RoleNames(std::span<const v1::Role> roles);
std::vector<v1::Role> RolesOf(const v1::Identity& identity);
// INVALID_ARGUMENT with the closest name: "unknown role 'opertor'; did you mean 'operator'?"
Result<v1::Role> ParseRole(std::string_view name);
// Of a list of words; sorted, without repetitions.
Result<std::vector<v1::Role>> ParseRoles(const std::vector<std::string>& names);
void SetRoles(std::vector<v1::Role> roles, v1::Identity& identity);

// "operator for nodes 'gpu-1*', rails 0,1"
std::string ScopedRoleText(const v1::ScopedRole& scoped);
std::string ListOfNumbers(std::span<const std::uint32_t> numbers);  // "0,1"

struct Token {
  std::string name;  // "ci"; see CheckTokenName
  std::string hash;  // HashOfSecret of the token
  std::vector<v1::Role> roles;
  std::optional<WallTime> expires_at = {};
};

// With its newline:
// - {name: ci, sha256: 9f..., roles: [operator], expires: 2027-02-21T00:00:00Z}
std::string TokenLine(const Token& token);

}  // namespace fabric
