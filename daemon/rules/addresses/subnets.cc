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

Survey UsualSubnetOfRail(const Tally& tally) {
  const Tally::Camp& camp = tally.camps[0];
  if (tally.members < 3 || 2 * camp.members <= tally.members) return {};
  return {.facts = {camp.value.number}, .shown = {{.count = camp.members, .of = tally.members}}};
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
