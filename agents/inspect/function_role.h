// Roles of RDMA devices: fabric, storage or management.
#pragma once

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Sets the role of devices that are fewer and of another kind (link layer, model or bond) than the
// fabric's, and that carry the default route (MANAGEMENT), serve storage (STORAGE), or are Ethernet
// on a node with at least four InfiniBand ports and on a different board (STORAGE, by exclusion; a
// port of the same board may have come up as Ethernet by mistake). All others are FABRIC: a wrong
// role would hide a port from the rules.
void DecideRoles(const Host& host, v1::NodeSnapshot& snapshot);

// Corrects FABRIC to STORAGE by position, on a node where at least four devices are below a PCIe
// switch with a GPU: other devices, if they are at most half as frequent, and are below a root port
// without a switch, serve storage, or are of another kind.
void DecideRolesByPosition(v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
