// The sections of the report about the machine around the fabric.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

std::string HostText(const v1::NodeSnapshot& snapshot);  // Host, its hugepages, modules, sysctls

}  // namespace fabric::inspect
