// Writer of the addresses file: the bound addresses of fabricd, for scripts and tests.
#pragma once

#include <string>

#include "base/settings.h"
#include "base/status.h"

namespace fabric {

// {"grpc":"127.0.0.1:9418","rest":"127.0.0.1:9419"}
std::string AddressesJson(const HostPort& grpc, const HostPort& rest);

// Replaces the file atomically. All users can read it. Errors name the path.
Status WriteAddresses(const std::string& path, const HostPort& grpc, const HostPort& rest);

}  // namespace fabric
