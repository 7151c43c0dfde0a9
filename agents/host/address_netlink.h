// IP addresses of the netdevs, by rtnetlink (RTM_GETADDR dump).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"

namespace fabric::host {

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

}  // namespace fabric::host
