// Roles: what a method needs, and whether an identity has it. Pure.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

// What a call, a page or a stream needs: one of these roles. Without any role it is refused for
// everyone.
struct Need {
  std::string what;  // "StartCampaign", "/metrics"
  std::vector<v1::Role> any_of;
};

// By the option required_role of the method. A method without it needs a role that does not exist.
// Server reflection of gRPC needs VIEWER.
Need NeedOf(const google::protobuf::MethodDescriptor& method);

// The method checks a secret in its request instead of a role.
bool IsForAnyone(const google::protobuf::MethodDescriptor& method);

// VIEWER, OPERATOR and ADMIN include the roles before them.
bool Includes(v1::Role held, v1::Role needed);

// PERMISSION_DENIED with the identity, the role that is needed and the roles that it has.
Status Check(const v1::Identity& identity, const Need& need);

// True for what the audit log records: methods that need OPERATOR or ADMIN.
bool IsRecorded(const Need& need);

}  // namespace fabric::access
