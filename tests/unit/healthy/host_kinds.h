// Kinds of healthy hosts, each as a fleet of four equal nodes.
#pragma once

#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

struct HostKind {
  const char* name;
  const char* unknown = "";  // The rule that lacks a fact which the driver does not report
};

struct HostFleet {
  HostKind kind;
  std::vector<v1::NodeSnapshot> nodes = {};
};

// All nodes of all fleets have different numbers: "n1", "n2". Inspected once.
const std::vector<HostFleet>& HealthyFleets();

}  // namespace fabric::testing
