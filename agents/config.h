// The settings of `fabric-agent run`.
#pragma once

#include <span>

#include "base/settings.h"

namespace fabric::agent {

std::span<const Option> AgentSettings();

// What no row can say: exactly one of `controller` and `no-controller` must be set.
// INVALID_ARGUMENT otherwise.
Status CheckAgentSettings(const Settings& settings);

}  // namespace fabric::agent
