// Addresses file: where fabricd listens, for scripts and tests.
#pragma once

#include <string>

#include "base/settings.h"
#include "base/status.h"

namespace fabric {

// {"grpc":"127.0.0.1:9418","rest":"127.0.0.1:9419"}
std::string AddressesJson(const HostPort& grpc, const HostPort& rest);

// Replaces the file in one step: a reader sees the old or the new text. Errors name the path.
Status WriteFileAtomically(const std::string& path, const std::string& text);

}  // namespace fabric
