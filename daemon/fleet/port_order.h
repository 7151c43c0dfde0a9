// Order of the RDMA ports of a node, and which of them are fabric ports. Pure.
#pragma once

#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::fleet {

struct OrderedPort {
  const v1::RdmaDevice* device = nullptr;
  const v1::Port* port = nullptr;
  const v1::NetInterface* netdev = nullptr;  // nullptr: none, or not known
  bool fabric = false;

  // Where the port is, the same after a reboot: "0000:17:00.0/1"; without a PCI address the name of
  // the netdev or device.
  std::string Place() const;
};

// Fabric ports first, then by PCI address and port number. A software device has the PCI address of
// its netdev. Ports without a PCI address come last, in the natural order of netdev and device
// names. Borrows from the snapshot.
std::vector<OrderedPort> PortsInOrder(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::fleet
