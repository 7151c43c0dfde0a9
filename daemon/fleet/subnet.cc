#include "daemon/fleet/subnet.h"

#include "base/text.h"

namespace fabric::fleet {
namespace {

constexpr std::uint32_t kLinkLocal = 0xa9fe0000;  // 169.254.0.0/16

// Parses "10.10.0.1" without allocation.
std::optional<std::uint32_t> ParseIpv4(std::string_view text) {
  std::uint32_t address = 0;
  std::uint32_t part = 0;
  int digits = 0;
  int dots = 0;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0 || ++dots > 3) return {};
      address = address << 8 | part;
      part = 0;
      digits = 0;
    } else if (c >= '0' && c <= '9') {
      part = part * 10 + static_cast<std::uint32_t>(c - '0');
      if (++digits > 3 || part > 255) return {};
    } else {
      return {};
    }
  }
  if (dots != 3 || digits == 0) return {};
  return address << 8 | part;
}

}  // namespace

std::optional<Subnet> ParseSubnet(std::string_view address) {
  const auto slash = address.find('/');
  if (slash == std::string_view::npos) return {};
  const auto ip = ParseIpv4(address.substr(0, slash));
  const auto bits = ParseNumber<std::uint32_t>(address.substr(slash + 1));
  if (!ip || !bits.ok() || *bits == 0 || *bits > 30) return {};
  const std::uint32_t network = *ip & ~((1U << (32 - *bits)) - 1);
  if ((*ip & 0xffff0000U) == kLinkLocal) return {};
  return Subnet{.network = network, .bits = *bits};
}

std::string ToString(const Subnet& subnet) {
  return Format("{}.{}.{}.{}/{}", subnet.network >> 24, subnet.network >> 16 & 0xff,
                subnet.network >> 8 & 0xff, subnet.network & 0xff, subnet.bits);
}

}  // namespace fabric::fleet
