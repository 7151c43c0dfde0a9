// Settings of `fabric-agent run`.
#pragma once

#include <span>

#include "base/settings.h"
#include "base/tls/tls_files.h"

namespace fabric::agent {

std::span<const Option> AgentSettings();

tls::TlsPaths TlsPathsOf(const Settings& settings);  // Without a CA: no TLS

// Checks that exactly one of `controller` and `no-controller` is set, and that all files of TLS are
// set or none. INVALID_ARGUMENT otherwise.
Status CheckAgentSettings(const Settings& settings);

}  // namespace fabric::agent
