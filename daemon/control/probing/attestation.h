// Check of the endpoints that agents report: partners send RDMA packets to them. Pure.
#pragma once

#include "base/status.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// FAILED_PRECONDITION when the GID of the endpoint is none of the node's ports, by its last report.
// A node that reports no GID passes: its GIDs may not be readable.
Status CheckEndpoint(const v1::NodeSnapshot& snapshot, const v1::ProbeEndpoint& endpoint);

}  // namespace fabric::control
