#include "proto/roles.h"

#include <algorithm>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric {
namespace {

struct NamedRole {
  v1::Role role;
  std::string_view name;
};
constexpr NamedRole kRoles[] = {{v1::ROLE_VIEWER, "viewer"},
                                {v1::ROLE_OPERATOR, "operator"},
                                {v1::ROLE_ADMIN, "admin"},
                                {v1::ROLE_AGENT, "agent"},
                                {v1::ROLE_METRICS, "metrics"}};

void SortWithoutRepetitions(std::vector<v1::Role>& roles) {
  std::ranges::sort(roles);
  roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
}

}  // namespace

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
  SortWithoutRepetitions(roles);
  return roles;
}

void SetRoles(std::vector<v1::Role> roles, v1::Identity& identity) {
  SortWithoutRepetitions(roles);
  identity.clear_roles();
  for (const v1::Role role : roles) identity.add_roles(role);
}

std::string ListOfNumbers(std::span<const std::uint32_t> numbers) {
  std::string text;
  for (const std::uint32_t number : numbers)
    text += Format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

std::string ScopedRoleText(const v1::ScopedRole& scoped) {
  std::string text = RoleName(scoped.role()) + " for ";
  text += scoped.nodes().empty() ? "all nodes" : "nodes " + Quoted(scoped.nodes());
  if (!scoped.rails().empty())
    text += ", rails " +
            ListOfNumbers({scoped.rails().data(), static_cast<std::size_t>(scoped.rails_size())});
  if (!scoped.labels().empty()) text += ", labels " + Quoted(scoped.labels());
  return text;
}

std::string TokenLine(const Token& token) {
  std::vector<std::string> roles;
  for (const v1::Role role : token.roles) roles.push_back(RoleName(role));
  // Quoted: a hash of digits alone is a number otherwise.
  return Format(
      "- {{name: \"{}\", sha256: \"{}\", roles: [{}]{}}}\n", token.name, token.hash,
      Join(roles, ", "),
      token.expires_at ? Format(", expires: \"{}\"", ToString(ToProto(*token.expires_at))) : "");
}

}  // namespace fabric
