// Functions, bonds and VLANs in the report for people.
#pragma once

#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

std::string FunctionsText(const v1::NodeSnapshot& snapshot);
std::string StacksText(const v1::NodeSnapshot& snapshot);  // Empty without bonds and VLANs.

}  // namespace fabric::inspect
