// IPv4 subnets.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fabric::fleet {

struct Subnet {
  std::uint32_t network = 0;  // Host order, host part zero
  std::uint32_t bits = 0;     // Of the prefix
  friend auto operator<=>(const Subnet&, const Subnet&) = default;
};

// Parses "10.10.0.1/24". Empty for IPv6, invalid text, point-to-point (/31, /32) and link-local
// networks: those do not show which ports share a network.
std::optional<Subnet> ParseSubnet(std::string_view address);
std::string ToString(const Subnet& subnet);  // "10.10.0.0/24"

}  // namespace fabric::fleet
