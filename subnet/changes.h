// What differs between two readings of one subnet. Pure.
#pragma once

#include "fabric/v1/fabric.pb.h"
#include "subnet/model.h"

namespace fabric::subnet {

// Cables that moved, are gone or are new, by the names of their ends, and links that were down
// between the readings. A cable whose end did not answer in `now` is not gone. The name of the
// subnet is not set.
v1::SubnetEvent ChangesBetween(const Subnet& before, const Subnet& now);

}  // namespace fabric::subnet
