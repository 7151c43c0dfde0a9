// Bonds under RDMA ports.
#pragma once

#include <string>
#include <vector>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// A bond that carries RDMA of the fabric.
struct RdmaBond {
  const v1::NetInterface* bond = nullptr;
  std::vector<const v1::NetInterface*> members;
  const fleet::PortView* port = nullptr;  // The first port over it
};

// Only of a node whose RoCE ports are all bonded: beside ports of the fabric that stand alone, a
// bond is that of storage or of the front end, whose owner does not think of RDMA.
std::vector<RdmaBond> BondsOf(const fleet::NodeView& node);

// Made to add bandwidth up, not to take over.
bool IsAggregate(const v1::NetInterface& bond);

// Of different cards, as their PCI addresses say; false where they are not known.
bool SpansCards(const RdmaBond& bond);

}  // namespace fabric::rules
