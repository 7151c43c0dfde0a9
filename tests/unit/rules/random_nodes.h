// Random nodes with faults, from a seed, for property tests of the engine.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "daemon/fleet/fleet.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::rules {

using Random = std::mt19937;

// From 0 to `end` - 1.
std::uint32_t Below(Random& random, std::uint32_t end);

// Of any vendor, with up to two faults and often another one on all ports. Most have LLDP
// neighbors.
v1::NodeSnapshot RandomNode(std::uint32_t number, Random& random);
std::vector<v1::NodeSnapshot> RandomFleet(std::uint32_t nodes, Random& random);

// Ends a window of counters in which some have grown. Changes nothing else.
void MoveCounters(fleet::NodeRecord& record, Random& random);

}  // namespace fabric::rules
