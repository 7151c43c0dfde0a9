// Which ports ping each other all the time, and with which flow labels. Pure: the same ports and
// options give the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/plan/plan.h"

namespace fabric::plan {

// The probability that `flows` flows, each of which takes one of `paths` paths with equal chance,
// take all of them. Exact, by the recurrence over the number of paths that are taken.
double CoversAllPaths(std::uint32_t paths, std::uint32_t flows);
// The fewest flows that do so with probability 0.99: 1 for one path, 115 for 16.
std::uint32_t FlowsToCover(std::uint32_t paths);

struct MeshOptions {
  std::uint32_t paths = 16;  // Of equal cost between two leaves
  // Within a leaf each port pings so many others, and is pinged by as many.
  std::uint32_t partners_within = 3;
  // At least so many pairs of ports between two leaves, one way: one of them may be bad itself.
  std::uint32_t pairs_between_min = 2;
};

struct MeshLeafPair {
  std::string from_leaf;  // Empty: not known
  std::string to_leaf;    // The same: within the leaf
  std::uint32_t rail = 0;
};

struct MeshPair {
  Pair ports;
  std::uint32_t leaf_pair = 0;             // Index in leaf_pairs
  std::vector<std::uint32_t> flow_labels;  // Empty: one flow, of the driver's choice
};

struct MeshPlan {
  std::vector<Port> ports;  // As given
  std::vector<MeshLeafPair> leaf_pairs;
  std::vector<MeshPair> pairs;       // By the port that pings
  std::uint32_t flows_to_cover = 0;  // Labels of each ordered pair of leaves, at least
};

// Within a leaf every port pings some others and is pinged by as many. From each leaf to each
// other one of the same rail and network, enough flows to meet all paths, over several pairs of
// ports that take turns. Ports whose leaf is not known are taken for one leaf of their rail; what
// lies between them may be anything, so that they have as many flows together.
// `ports` by rail, then by node.
MeshPlan MakeMesh(std::vector<Port> ports, const std::vector<std::string>& leaf_names,
                  const MeshOptions& options);

}  // namespace fabric::plan
