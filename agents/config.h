// The settings of `fabric-agent run`.
#pragma once

#include <span>

#include "base/settings.h"

namespace fabric::agent {

std::span<const Setting> AgentSettings();

}  // namespace fabric::agent
