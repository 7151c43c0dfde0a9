#include "daemon/access/role_bindings.h"

#include <array>
#include <utility>

#include "daemon/access/access_file.h"
#include "daemon/profile/profile.h"

namespace fabric::access {
namespace {

constexpr std::array<std::string_view, 2> kBindingKeys = {"identity", "roles"};

}  // namespace

Result<RoleBindings> RoleBindings::Parse(std::string_view yaml, std::string_view file) {
  RoleBindings bindings;
  const Status status = ReadEntries(yaml, file, [&](const FileEntry& entry) -> Status {
    RETURN_IF_ERROR(entry.CheckKeys(kBindingKeys));
    Binding binding;
    ASSIGN_OR_RETURN(binding.identity, entry.Text("identity"));
    ASSIGN_OR_RETURN(binding.roles, entry.Roles("roles"));
    bindings.bindings_.push_back(std::move(binding));
    return {};
  });
  if (!status.ok()) return status;
  return bindings;
}

std::vector<v1::Role> RoleBindings::RolesOf(std::string_view identity) const {
  std::vector<v1::Role> roles;
  for (const Binding& binding : bindings_)
    if (profile::MatchesPattern(binding.identity, identity))
      roles.insert(roles.end(), binding.roles.begin(), binding.roles.end());
  return roles;
}

}  // namespace fabric::access
