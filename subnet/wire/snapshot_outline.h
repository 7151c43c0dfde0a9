// Snapshot with only the names and cables of a subnet, for subnets that come from files of other
// tools.
#pragma once

#include "fabric/v1/subnet.pb.h"
#include "subnet/model.h"
#include "subnet/wire/snapshot_parts.h"

namespace fabric::subnet {

// Nodes have the names that findings use. The snapshot counts as changed while it was read, so that
// checks of it are UNKNOWN.
v1::SubnetSnapshot OutlineOf(const Subnet& subnet);

// A subnet that comes from files, for the API.
struct FileSubnet {
  v1::SubnetInfo info;
  Frame outline;
};

}  // namespace fabric::subnet
