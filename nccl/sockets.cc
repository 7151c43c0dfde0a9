// NCCL_SOCKET_IFNAME: over which netdev NCCL's ranks find each other. On its own NCCL takes the
// first ib* netdev, then any but lo, docker* and virbr*, which may be a rail or a bridge of
// containers.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "nccl/parts.h"

namespace fabric::nccl {
namespace {

constexpr std::uint32_t kEthernet = 1;  // ARPHRD_ETHER

bool IsUp(const v1::NetInterface& netdev) {
  if (netdev.has_carrier()) return netdev.carrier();
  return netdev.oper_state() == v1::OPER_STATE_UP;
}

bool IsPlainNetdev(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

// Of hardware or a bond of it, and no member of another.
bool StandsAlone(const v1::NetInterface& netdev) {
  if (netdev.has_master() || (netdev.has_hardware_type() && netdev.hardware_type() != kEthernet))
    return false;
  const v1::FunctionKind kind = netdev.function().kind();
  if (kind == v1::FUNCTION_KIND_SOFTWARE || kind == v1::FUNCTION_KIND_REPRESENTOR) return false;
  return netdev.has_pci_address() || netdev.has_bond();
}

std::set<std::string> RdmaNetdevs(const v1::NodeSnapshot& snapshot) {
  std::set<std::string> names;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports()) names.insert(port.netdev());
  return names;
}

bool CarriesOneOf(const v1::NetInterface& netdev, const std::set<std::string>& names) {
  return names.contains(netdev.name()) ||
         std::any_of(netdev.lowers().begin(), netdev.lowers().end(),
                     [&](const std::string& lower) { return names.contains(lower); });
}

}  // namespace

void AdviseSockets(const Facts& facts, v1::NcclAdvice& advice) {
  constexpr const char* kName = "NCCL_SOCKET_IFNAME";
  const std::set<std::string> rdma = RdmaNetdevs(facts.snapshot);
  std::vector<std::string> management, other;
  std::string why;
  for (const v1::NetInterface& netdev : facts.snapshot.net_interfaces()) {
    if (!IsUp(netdev) || !IsPlainNetdev(netdev.name())) continue;
    if (netdev.function().role() == v1::FUNCTION_ROLE_MANAGEMENT) {
      management.push_back(netdev.name());
      why = netdev.function().reason();
    } else if (StandsAlone(netdev) && !CarriesOneOf(netdev, rdma)) {
      other.push_back(netdev.name());
    }
  }
  if (management.size() == 1)
    return Set(advice, kName, "=" + management[0], "for management: " + why);
  if (management.size() > 1)
    return Undecided(advice, kName,
                     Format("several netdevs are for management: {}", Few(management)));
  if (other.size() == 1)
    return Set(advice, kName, "=" + other[0], "the only Ethernet netdev up that carries no RDMA");
  if (other.size() > 1)
    return Undecided(advice, kName,
                     Format("which netdev carries the default route is not known; up and without "
                            "RDMA are {}",
                            Few(other)));
  Undecided(advice, kName, "only netdevs of RDMA ports are up");
}

}  // namespace fabric::nccl
