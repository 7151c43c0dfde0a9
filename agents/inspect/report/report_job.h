// The section of the table report about a job in another network namespace or container.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

std::string JobText(const v1::NodeSnapshot& snapshot);  // Empty when no job was asked for.

}  // namespace fabric::inspect
