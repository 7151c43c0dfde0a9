// Fleets whose snapshots have nearly every field, with a profile that describes them.
#pragma once

#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/profile.pb.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {

struct CompleteFleet {
  std::vector<v1::NodeSnapshot> nodes;
  v1::Expectations expectations;
};

// RoCE over mlx5 and bnxt, InfiniBand, and captured machines, with and without a profile.
std::vector<CompleteFleet> CompleteFleets();

// Three nodes with four rails, healthy, without a profile.
std::vector<v1::NodeSnapshot> CompleteRoce();
std::vector<v1::NodeSnapshot> CompleteInfiniband();

// RoCE: both ports of one card in bond0, and one RDMA device over it.
v1::NodeSnapshot BondedNode(const testing::NodeOptions& options);

// The inspectors that fill a field of NodeSnapshot: "gpus".
std::vector<std::string> InspectorsOf(const std::string& field);

}  // namespace fabric::rules
