// What differs between two readings of one subnet: cables and error counters. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/subnet.pb.h"
#include "subnet/model.h"

namespace fabric::subnet {

// Cables that moved, are gone or are new, by the names of their ends, and links that were down
// between the readings. A cable whose end did not answer in `now` is not gone. The name of the
// subnet is not set.
v1::SubnetEvent ChangesBetween(const Subnet& before, const Subnet& now);

// The switch ports with the most errors per second, the worst first; at most `ports_max`.
std::vector<v1::SubnetPortErrors> WorstPorts(const Subnet& subnet, std::size_t ports_max);

}  // namespace fabric::subnet
