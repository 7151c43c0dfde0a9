// Plan of the always-on mesh: which ports ping each other, with which flow labels. Pure: the same
// ports and options give the same plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/plan/plan.h"

namespace fabric::plan {

// Probability that `flows` flows, each on one of `paths` paths with equal probability, cover all
// paths. Exact, by recurrence over the number of covered paths.
double CoversAllPaths(std::uint32_t paths, std::uint32_t flows);
// Minimum number of flows for a probability of 0.99: 1 for one path, 115 for 16.
std::uint32_t FlowsToCover(std::uint32_t paths);

struct MeshOptions {
  std::uint32_t paths = 16;  // Equal-cost paths between two leaves
  // Number of ports under the same leaf that each port pings, and that ping it.
  std::uint32_t partners_within = 3;
  // Minimum number of port pairs from one leaf to another, because one port may be bad itself.
  std::uint32_t pairs_between_min = 2;
};

struct MeshLeafPair {
  std::string from_leaf;  // Empty: not known
  std::string to_leaf;    // Equal to from_leaf: within the leaf
  std::uint32_t rail = 0;
};

struct MeshPair {
  Pair ports;
  std::uint32_t leaf_pair = 0;  // Index in leaf_pairs
  std::uint32_t labels = 0;     // Number of flow labels; 0: one flow, label chosen by the driver

  std::uint32_t flows() const { return std::max(1U, labels); }
};

struct MeshPlan {
  std::vector<Port> ports;  // As given
  std::vector<MeshLeafPair> leaf_pairs;
  std::vector<MeshPair> pairs;       // By the port that pings
  std::uint32_t flows_to_cover = 0;  // Minimum number of labels for each ordered pair of leaves
};

// Within a leaf: each port pings some others, and the same number ping it. Between two leaves of
// one rail and network: enough flows to cover all paths, distributed over several port pairs. Ports
// with an unknown leaf count as one leaf per rail, with the flow number of a leaf pair, because the
// number of paths between them is not known. `ports`: sorted by rail, then by node.
MeshPlan MakeMesh(std::vector<Port> ports, const std::vector<std::string>& leaf_names,
                  const MeshOptions& options);

// Flow labels of a pair of the plan, always the same. Not in the plan: with thousands of nodes
// there are millions.
std::vector<std::uint32_t> FlowLabelsOf(const MeshPlan& plan, const MeshPair& pair);

}  // namespace fabric::plan
