#include "daemon/rules/addresses/subnets.h"

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

}  // namespace

std::optional<Subnet> JudgedSubnet(const fleet::PortView& port) {
  if (!port.rail || !IsRoce(port) || !IsUp(port)) return {};
  return port.subnet;
}

std::optional<Value> SubnetOnRail(const Member& port) {
  const auto subnet = JudgedSubnet(*port.port);
  if (!subnet) return {};
  return Value{std::uint64_t{port.port->rail->value()} << kRailShift | ToNumber(*subnet)};
}

GroupSummary UsualSubnetOfRail(const ValueCounts& counts) {
  const ValueCounts::Entry& entry = counts.values[0];
  if (counts.members < 3 || 2 * entry.members <= counts.members) return {};
  return {.facts = {entry.value.number}, .shown = {{.count = entry.members, .of = counts.members}}};
}

std::optional<UsualSubnet> UsualOn(const GroupSummary& summary, Rail rail) {
  for (std::size_t i = 0; i < summary.facts.size(); ++i)
    if (summary.facts[i] >> kRailShift == rail.value())
      return UsualSubnet{.subnet = SubnetIn(summary.facts[i]), .ports = summary.shown[i]};
  return {};
}

bool IsOfThisFabric(const fleet::NodeView& node, const GroupSummary& summary) {
  for (const fleet::PortView& port : node.ports) {
    const auto subnet = JudgedSubnet(port);
    if (!subnet) continue;
    for (const std::uint64_t usual : summary.facts)
      if ((usual & kSubnetMask) == ToNumber(*subnet)) return true;
  }
  return false;
}

}  // namespace fabric::rules
