// IP addresses, VLANs, routes, policy rules and neighbors of netdevs, by rtnetlink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/host/netlink/route_messages.h"
#include "base/status.h"

namespace fabric::host {

class NetlinkClient;

struct InterfaceAddress {
  std::uint32_t netdev_index = 0;
  std::string address;  // "10.10.0.1/24", "fe80::1/64"
};

// IFLA_INFO_DATA of a netdev of kind "vlan".
struct VlanInfo {
  std::uint32_t id = 0;                           // 0 to 4094
  std::optional<std::uint32_t> lower_index;       // Index of the netdev below
  std::map<std::uint32_t, std::uint32_t> egress;  // Socket priority to priority of the tag
};

class AddressNetlink {
 public:
  virtual ~AddressNetlink() = default;
  // UNIMPLEMENTED when captured. Blocks for at most 1 s. One thread at a time.
  virtual Result<std::vector<InterfaceAddress>> Addresses() = 0;
  // NOT_FOUND when the netdev does not exist or is not a VLAN.
  virtual Result<VlanInfo> Vlan(std::uint32_t netdev_index) = 0;
  // Tables of IPv4 and IPv6, as Addresses().
  virtual Result<std::vector<RouteInfo>> Routes() = 0;
  virtual Result<std::vector<RuleInfo>> Rules() = 0;
  virtual Result<std::vector<NeighborInfo>> Neighbors() = 0;
};

std::unique_ptr<AddressNetlink> OpenAddressNetlink();
std::unique_ptr<AddressNetlink> NoAddressNetlink();
std::unique_ptr<AddressNetlink> OpenAddressNetlink(
    NetlinkClient client);  // For tests: a fake kernel

// Parser of the reply datagrams; errors as for ParseRdmaDevices. IPv4 and IPv6 only.
Result<std::vector<InterfaceAddress>> ParseAddresses(std::span<const std::byte> datagram);
Result<VlanInfo> ParseVlan(std::span<const std::byte> datagram);

}  // namespace fabric::host
