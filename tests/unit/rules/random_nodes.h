// Nodes with faults by lot, from a seed: what properties of the engine are tried on.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "daemon/fleet/fleet.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::rules {

using Random = std::mt19937;

// From 0 up to and without `end`.
std::uint32_t Below(Random& random, std::uint32_t end);

// Of any vendor, with up to two faults, often with one more on all ports, mostly wired.
v1::NodeSnapshot RandomNode(std::uint32_t number, Random& random);
std::vector<v1::NodeSnapshot> RandomFleet(std::uint32_t nodes, Random& random);

// A window of counters has ended, in which some of the record's have grown. Nothing else changes.
void MoveCounters(fleet::NodeRecord& record, Random& random);

}  // namespace fabric::rules
