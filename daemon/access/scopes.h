// Roles for a part of the fabric: names and labels of nodes, and rails. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/access/policy.h"
#include "fabric/v1/access.pb.h"
#include "proto/labels.h"

namespace fabric::access {

// What a request is about.
struct Part {
  std::string node;                  // Empty: all nodes
  std::vector<std::uint32_t> rails;  // Empty: all rails
  Labels labels = {};                // Of the node
};
// NOT_FOUND if the request names something that does not exist.
using MakeParts = std::function<Result<std::vector<Part>>()>;

// A scoped role of the identity includes one that is needed. For VIEWER, that is enough: who has a
// role for a part can read everything.
bool HasScoped(const v1::Identity& identity, const Need& need);

// PERMISSION_DENIED, with the first part that no scoped role of the identity covers. Every part
// must be covered.
Status CheckScopes(const v1::Identity& identity, const Need& need, std::span<const Part> parts);

}  // namespace fabric::access
