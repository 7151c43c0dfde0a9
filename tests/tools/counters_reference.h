// docs/reference/COUNTERS.md, made of the neutral names and of the drivers' tables.
#pragma once

#include <string>

namespace fabric::inspect {

std::string CountersReference();

}  // namespace fabric::inspect
