// Settings of `fabric-agent run`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agents/host/pods/pods.h"
#include "agents/join/credential.h"
#include "base/settings.h"
#include "base/tls/tls_files.h"

namespace fabric::agent {

std::span<const Option> AgentSettings();

tls::TlsPaths TlsPathsOf(const Settings& settings);  // Without a CA: no TLS
CredentialOptions CredentialOptionsOf(const Settings& settings, std::string node);

// Checks that exactly one of `controller` and `no-controller` is set, that all files of TLS are set
// or none, and that settings for joining fit together. INVALID_ARGUMENT otherwise.
Status CheckAgentSettings(const Settings& settings);

host::PodSockets PodSocketsOf(const Settings& settings);

// INVALID_ARGUMENT unless it is empty, an absolute path, or one after "unix://".
Status CheckPodSocket(std::string_view socket);

// Names of the settings that differ, other than log-level.
std::vector<std::string> SettingsThatNeedRestart(const Settings& before, const Settings& now);

}  // namespace fabric::agent
