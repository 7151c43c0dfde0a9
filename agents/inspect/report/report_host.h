// The sections of the report about the machine around the fabric.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

std::string HostText(const v1::NodeSnapshot& snapshot);  // Host, its modules, its sysctls
std::string LldpText(const v1::NodeSnapshot& snapshot);
std::string KernelLogText(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
