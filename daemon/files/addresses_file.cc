#include "daemon/files/addresses_file.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace fabric {

std::string AddressesJson(const HostPort& grpc, const HostPort& rest) {
  return nlohmann::ordered_json{{"grpc", ToString(grpc)}, {"rest", ToString(rest)}}.dump() + "\n";
}

Status WriteAddresses(const std::string& path, const HostPort& grpc, const HostPort& rest) {
  return WriteFileAtomically(path, AddressesJson(grpc, rest), 0644);
}

}  // namespace fabric
