// Settings of lossless RoCE on built nodes beyond PFC and the DSCP map (see nodes.h), and the
// faults that tests plant in them.
#pragma once

#include <cstdint>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

// Further settings of a port with DCB: equal ETS shares, one buffer for lossless priorities, no
// rate limits, no global pause, and congestion control with CNPs as DSCP 48 and priority 6. mlx5
// has the switches and parameters of MLNX_OFED, others (bnxt) one switch, and the priority of RoCE.
void AddLosslessSettings(v1::NetInterface& netdev);

// Buffer 1 for the priorities of the mask, as the driver lays them out when PFC changes.
void LayOutBuffers(v1::DcbConfig& dcb, std::uint32_t lossless_mask);

}  // namespace fabric::testing
