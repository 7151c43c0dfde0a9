// Settings of `fabric-agent run`.
#pragma once

#include <span>

#include "base/settings.h"

namespace fabric::agent {

std::span<const Option> AgentSettings();

// Checks that exactly one of `controller` and `no-controller` is set.
// INVALID_ARGUMENT otherwise.
Status CheckAgentSettings(const Settings& settings);

}  // namespace fabric::agent
