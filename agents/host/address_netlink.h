// IP addresses of the netdevs, by rtnetlink (RTM_GETADDR dump).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

class NetlinkClient;

struct InterfaceAddress {
  std::uint32_t netdev_index = 0;
  std::string address;  // "10.10.0.1/24", "fe80::1/64"
};

class AddressNetlink {
 public:
  virtual ~AddressNetlink() = default;
  virtual Result<std::vector<InterfaceAddress>> Addresses() = 0;  // UNIMPLEMENTED when captured
};

std::unique_ptr<AddressNetlink> OpenAddressNetlink();
std::unique_ptr<AddressNetlink> NoAddressNetlink();
std::unique_ptr<AddressNetlink> OpenAddressNetlink(NetlinkClient client);  // For tests: any kernel.

// Parser of the reply, one or several datagrams; see ParseRdmaDevices for errors. IPv4 and IPv6
// only.
Result<std::vector<InterfaceAddress>> ParseAddresses(std::span<const std::byte> datagram);

}  // namespace fabric::host
