#include "daemon/rules/subnets.h"

#include <map>
#include <vector>

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

Survey UsualSubnets(const Tally& tally) {
  std::vector<std::uint64_t> ports;  // By rail: there are as many camps as subnets, and few rails
  for (const Tally::Camp& camp : tally.camps) {
    const std::uint64_t rail = camp.value.number >> kRailShift;
    if (ports.size() <= rail) ports.resize(rail + 1);
    ports[rail] += camp.members;
  }
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
