// Writer of the addresses file: the bound addresses of fabricd, for scripts and tests.
#pragma once

#include <optional>
#include <string>

#include "base/settings.h"
#include "base/status.h"

namespace fabric {

struct Addresses {
  HostPort grpc;
  HostPort rest;
  HostPort health;
  std::optional<HostPort> agents = {};  // Absent: as grpc
};

// {"grpc":"127.0.0.1:9418","rest":"127.0.0.1:9419","health":"127.0.0.1:9420"}
std::string AddressesJson(const Addresses& addresses);

// Replaces the file atomically. All users can read it. Errors name the path.
Status WriteAddresses(const std::string& path, const Addresses& addresses);

}  // namespace fabric
