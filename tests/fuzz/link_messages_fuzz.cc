// Arbitrary rtnetlink messages about netdevs, addresses, routes and neighbors: nothing reads beyond
// them.
#include <span>

#include "agents/host/netlink/address_netlink.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto datagram = std::as_bytes(std::span(data, size));
  if (const auto vlan = fabric::host::ParseVlan(datagram); vlan.ok()) {
    Check(vlan->id <= 0xffff, "a VLAN id has 16 bits");
    Check(vlan->egress.size() <= size / 8, "no more priorities than attributes");
  }
  if (const auto addresses = fabric::host::ParseAddresses(datagram); addresses.ok())
    for (const auto& address : *addresses)
      Check(address.address.find('/') != std::string::npos, "an address has a prefix");
  if (const auto routes = fabric::host::ParseRoutes(datagram); routes.ok())
    for (const auto& route : *routes)
      Check(route.destination.find('/') != std::string::npos, "a destination has a prefix");
  (void)fabric::host::ParseRules(datagram).ok();
  if (const auto neighbors = fabric::host::ParseNeighbors(datagram); neighbors.ok())
    for (const auto& neighbor : *neighbors)
      Check(!neighbor.address.empty(), "a neighbor has an address");
  return 0;
}
