// Numbers about the fleet, counted from the lists that the API returns. The controller keeps the
// same numbers up to date with each change: they must be equal.
#pragma once

#include <string>

#include "daemon/control/controller.h"

namespace fabric::testing {

// Empty if the numbers of the controller are those of a full count; else each difference.
std::string DifferenceToFullCount(control::Controller& controller, Moment now);

}  // namespace fabric::testing
