#include "agents/inspect/lossless.h"

#include <algorithm>

namespace fabric::inspect {
namespace {

bool IsNetdevOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev,
                const std::string& port_netdev) {
  if (netdev.name() == port_netdev || netdev.master() == port_netdev) return true;
  return std::any_of(
      snapshot.net_interfaces().begin(), snapshot.net_interfaces().end(), [&](const auto& bond) {
        const auto& members = bond.bond().members();
        return bond.name() == port_netdev &&
               std::find(members.begin(), members.end(), netdev.name()) != members.end();
      });
}

bool IsRoce(const v1::Port& port) {
  return port.link_layer() != v1::LINK_LAYER_INFINIBAND && port.has_netdev();
}

}  // namespace

bool SettingsDecideRoce(const v1::NodeSnapshot& snapshot, const v1::NetInterface& netdev) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      if (IsRoce(port) && IsNetdevOf(snapshot, netdev, port.netdev())) return true;
  return false;
}

bool HasOwnSettings(const v1::NetInterface& netdev) {
  switch (netdev.function().kind()) {
    case v1::FUNCTION_KIND_VIRTUAL:
    case v1::FUNCTION_KIND_SUBFUNCTION:
    case v1::FUNCTION_KIND_REPRESENTOR:
    case v1::FUNCTION_KIND_BOND: return false;
    default: return !netdev.has_bond() && !netdev.has_vlan();
  }
}

std::vector<int> NetdevsOfRocePort(const v1::NodeSnapshot& snapshot, const v1::Port& port) {
  std::vector<int> indexes;
  std::vector<int> bonds;
  if (!IsRoce(port)) return indexes;
  for (int i = 0; i < snapshot.net_interfaces_size(); ++i) {
    const v1::NetInterface& netdev = snapshot.net_interfaces(i);
    if (IsNetdevOf(snapshot, netdev, port.netdev()))
      (netdev.has_bond() ? bonds : indexes).push_back(i);
  }
  return indexes.empty() ? bonds : indexes;
}

}  // namespace fabric::inspect
