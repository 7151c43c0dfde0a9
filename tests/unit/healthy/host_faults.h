// Faults of a host, as changes of its snapshot.
#pragma once

#include <span>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

struct HostFault {
  const char* what;
  bool (*inject)(v1::NodeSnapshot&);  // False: this kind of host cannot have it.
};

std::span<const HostFault> HostFaults();

}  // namespace fabric::testing
