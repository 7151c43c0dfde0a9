// Subnet changes: differences between two readings of one subnet in cables, routes, the master and
// error counters. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/subnet.pb.h"
#include "subnet/model.h"

namespace fabric::subnet {

// Cables that moved, are gone or are new, by the GUIDs of their ends, and links that were down
// between the readings. A cable whose end did not answer in `now` is not gone. Routes that changed
// although links, LIDs and the master did not, unless `settled` is false: the reading before had
// changes too, which a subnet manager answers with other routes. Another master, or none. The name
// of the subnet is not set.
v1::SubnetEvent ChangesBetween(const Subnet& before, const Subnet& now, bool settled = true);

// Whether all ports have the same far ends, LIDs and states: forwarding tables follow from these.
bool HaveSameLinks(const Subnet& before, const Subnet& now);

// The switch ports with the most errors per second, the worst first; at most `ports_max`.
std::vector<v1::SubnetPortErrors> WorstPorts(const Subnet& subnet, std::size_t ports_max);

}  // namespace fabric::subnet
