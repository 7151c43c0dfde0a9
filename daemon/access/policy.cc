#include "daemon/access/policy.h"

#include <algorithm>

#include "base/text.h"
#include "proto/roles.h"

namespace fabric::access {
namespace {

constexpr std::string_view kReflection = "grpc.reflection.v1alpha.ServerReflection";

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

bool IsForAnyone(const google::protobuf::MethodDescriptor& method) {
  return method.options().GetExtension(v1::required_role) == v1::ROLE_ANYONE;
}

bool Includes(v1::Role held, v1::Role needed) {
  if (held == needed) return held != v1::ROLE_UNSPECIFIED && held != v1::ROLE_ANYONE;
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

}  // namespace fabric::access
