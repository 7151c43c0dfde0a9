// The sections of the report about GPUs, PCI Express and GPUDirect RDMA.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

std::string PciText(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
