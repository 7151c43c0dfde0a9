// Settings of fabricd.
#pragma once

#include <span>

#include "base/settings.h"

namespace fabric {

std::span<const Option> ControllerSettings();

}  // namespace fabric
