// InfiniBand subnets from texts of ibnetdiscover, for tests.
#pragma once

#include <string_view>

#include "daemon/fleet/infiniband_topology.h"
#include "subnet/model.h"

namespace fabric::testing {

// Fails the test if the text is not the output of ibnetdiscover. Bad lines are problems of the
// subnet.
subnet::Subnet SubnetOf(std::string_view text);

fleet::InfinibandTopology TopologyOf(std::string_view text);

}  // namespace fabric::testing
