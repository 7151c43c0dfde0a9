#include "daemon/files/addresses_file.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace fabric {

std::string AddressesJson(const Addresses& addresses) {
  nlohmann::ordered_json json = {{"grpc", ToString(addresses.grpc)},
                                 {"rest", ToString(addresses.rest)},
                                 {"health", ToString(addresses.health)}};
  if (addresses.agents) json["agents"] = ToString(*addresses.agents);
  return json.dump() + "\n";
}

Status WriteAddresses(const std::string& path, const Addresses& addresses) {
  return WriteFileAtomically(path, AddressesJson(addresses), 0644);
}

}  // namespace fabric
