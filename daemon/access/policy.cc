#include "daemon/access/policy.h"

#include <algorithm>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::access {
namespace {

constexpr std::string_view kReflection = "grpc.reflection.v1alpha.ServerReflection";

struct NamedRole {
  v1::Role role;
  std::string_view name;
};
constexpr NamedRole kRoles[] = {{v1::ROLE_VIEWER, "viewer"},
                                {v1::ROLE_OPERATOR, "operator"},
                                {v1::ROLE_ADMIN, "admin"},
                                {v1::ROLE_AGENT, "agent"},
                                {v1::ROLE_METRICS, "metrics"}};

// 0: the role is outside of the order.
int RankOf(v1::Role role) {
  return role >= v1::ROLE_VIEWER && role <= v1::ROLE_ADMIN ? role : 0;
}

}  // namespace

Need NeedOf(const google::protobuf::MethodDescriptor& method) {
  Need need{.what = method.name(), .any_of = {}};
  const v1::Role role = method.options().GetExtension(v1::required_role);
  if (role != v1::ROLE_UNSPECIFIED)
    need.any_of = {role};
  else if (method.service()->full_name() == kReflection)
    need.any_of = {v1::ROLE_VIEWER};
  return need;
}

bool Includes(v1::Role held, v1::Role needed) {
  if (held == needed) return held != v1::ROLE_UNSPECIFIED;
  return RankOf(needed) > 0 && RankOf(held) > RankOf(needed);
}

Status Check(const v1::Identity& identity, const Need& need) {
  for (const v1::Role needed : need.any_of)
    for (const int held : identity.roles())
      if (Includes(static_cast<v1::Role>(held), needed)) return {};
  std::vector<std::string> needed;
  for (const v1::Role role : need.any_of) needed.push_back(RoleName(role));
  return {Code::kPermissionDenied,
          Format("{}: expected role {}, {} has {}", need.what,
                 needed.empty() ? "of a method, saw a method without one" : Join(needed, " or "),
                 identity.name(), RoleNames(RolesOf(identity)))};
}

bool IsRecorded(const Need& need) {
  return std::ranges::any_of(need.any_of, [](v1::Role role) {
    return role == v1::ROLE_OPERATOR || role == v1::ROLE_ADMIN;
  });
}

std::string RoleName(v1::Role role) {
  for (const NamedRole& row : kRoles)
    if (row.role == role) return std::string(row.name);
  return Format("role {}", static_cast<int>(role));
}

std::string RoleNames(std::span<const v1::Role> roles) {
  std::vector<std::string> names;
  for (const v1::Role role : roles) names.push_back(RoleName(role));
  return names.empty() ? "no role" : Join(names, ", ");
}

std::vector<v1::Role> RolesOf(const v1::Identity& identity) {
  std::vector<v1::Role> roles;
  for (const int role : identity.roles()) roles.push_back(static_cast<v1::Role>(role));
  return roles;
}

Result<v1::Role> ParseRole(std::string_view name) {
  Candidates names;
  for (const NamedRole& row : kRoles) {
    if (row.name == name) return row.role;
    names.push_back(row.name);
  }
  return Status(
      Code::kInvalidArgument,
      UnknownName("role", name, names, ": expected viewer, operator, admin, agent or metrics"));
}

Result<std::vector<v1::Role>> ParseRoles(const std::vector<std::string>& names) {
  std::vector<v1::Role> roles;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const v1::Role role, ParseRole(name));
    roles.push_back(role);
  }
  std::ranges::sort(roles);
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  return roles;
}

void SetRoles(std::vector<v1::Role> roles, v1::Identity& identity) {
  std::ranges::sort(roles);
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
  identity.clear_roles();
  for (const v1::Role role : roles) identity.add_roles(role);
}

}  // namespace fabric::access
