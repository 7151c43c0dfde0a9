// What an RDMA device is there for, as far as its own node tells.
#pragma once

#include "agents/inspect/inspector.h"

namespace fabric::inspect {

// Takes the role FABRIC from devices that something on this node tells from the fabric: they are
// fewer and of another kind (link layer, model or bond) than the fabric's, and they carry the
// default route (MANAGEMENT), are what NFS is mounted over (STORAGE), or are Ethernet among at
// least four InfiniBand ports and of no board that these have (STORAGE, by exclusion; one of their
// board may have come up as Ethernet by mistake). Whatever is in doubt stays FABRIC: a wrong
// role would hide a port from the rules.
void DecideRoles(const Host& host, v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
