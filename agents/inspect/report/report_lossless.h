// The section of the report about lossless and congestion control settings.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

std::string LosslessText(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::inspect
