// The hosts of a subnet as a tree of groups of switches: schedulers place jobs by it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "subnet/model.h"

namespace fabric::subnet {

// Switches that hosts reach without a higher level: a leaf, or the leaves of the rails of the same
// hosts; then a pod; then all. Only groups with hosts.
struct TreeGroup {
  std::string name;                   // Of its first switch of this level, in natural order
  std::uint32_t level = 0;            // 0: leaves
  std::vector<std::string> switches;  // Of this level, in natural order
  std::vector<std::string> hosts;     // Of level 0, in natural order
  std::vector<TreeGroup> below;       // Of the next lower level, by name
};

// The groups of the highest level: one for each part that no cable joins. If the switches are not a
// tree, level 1 is all that cables join.
std::vector<TreeGroup> TreeOf(const Subnet& subnet);

}  // namespace fabric::subnet
