#include "daemon/rules/subnets.h"

#include <map>

#include "base/text.h"
#include "daemon/rules/facts.h"

namespace fabric::rules {
namespace {

// A subnet on a rail as one number.
constexpr unsigned kRailShift = 40;
constexpr std::uint64_t kSubnetMask = (std::uint64_t{1} << kRailShift) - 1;

std::uint64_t ToNumber(const Subnet& subnet) {
  return std::uint64_t{subnet.bits} << 32 | subnet.network;
}

Subnet SubnetIn(std::uint64_t number) {
  return {.network = static_cast<std::uint32_t>(number),
          .bits = static_cast<std::uint32_t>((number & kSubnetMask) >> 32)};
}

constexpr std::uint32_t kLinkLocal = 0xa9fe0000;  // 169.254.0.0/16

// "10.10.0.1", without allocating: ports are many.
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

std::optional<Subnet> SubnetOf(const fleet::PortView& port) {
  if (port.netdev == nullptr) return {};
  for (const std::string& address : port.netdev->addresses()) {
    if (address.find(':') != std::string::npos) continue;
    if (const auto subnet = ParseSubnet(address)) return subnet;
  }
  return {};
}

std::optional<Subnet> JudgedSubnet(const fleet::PortView& port) {
  if (!port.rail || !IsRoce(port) || !IsUp(port)) return {};
  return SubnetOf(port);
}

std::optional<Value> SubnetOnRail(const Member& port) {
  const auto subnet = JudgedSubnet(*port.port);
  if (!subnet) return {};
  return Value{std::uint64_t{port.port->rail->value()} << kRailShift | ToNumber(*subnet)};
}

Survey UsualSubnets(const Tally& tally) {
  std::map<std::uint64_t, std::uint64_t> ports;  // By rail
  for (const Tally::Camp& camp : tally.camps)
    ports[camp.value.number >> kRailShift] += camp.members;
  std::map<std::uint64_t, Survey::Shown> most;  // By rail: in the same order always
  for (const Tally::Camp& camp : tally.camps) {
    const std::uint64_t all = ports[camp.value.number >> kRailShift];
    if (all >= 3 && 2 * camp.members > all)
      most[camp.value.number] = {.count = camp.members, .of = all};
  }
  Survey usual;
  for (const auto& [subnet, shown] : most) {
    usual.facts.push_back(subnet);
    usual.shown.push_back(shown);
  }
  return usual;
}

std::optional<UsualSubnet> UsualOn(const Survey& survey, Rail rail) {
  for (std::size_t i = 0; i < survey.facts.size(); ++i)
    if (survey.facts[i] >> kRailShift == rail.value())
      return UsualSubnet{.subnet = SubnetIn(survey.facts[i]), .ports = survey.shown[i]};
  return {};
}

bool IsOfThisFabric(const fleet::NodeView& node, const Survey& survey) {
  for (const fleet::PortView& port : node.ports) {
    const auto subnet = JudgedSubnet(port);
    if (!subnet) continue;
    for (const std::uint64_t usual : survey.facts)
      if ((usual & kSubnetMask) == ToNumber(*subnet)) return true;
  }
  return false;
}

}  // namespace fabric::rules
