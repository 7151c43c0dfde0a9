#include <algorithm>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/rdma.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRoceLagName = "roce_lag";

// The bond that the port's netdev is or belongs to; nullptr: none.
const v1::NetInterface* BondOf(const v1::NodeSnapshot& snapshot, const v1::Port& port) {
  const v1::NetInterface* const netdev = FindNetdev(snapshot, port.netdev());
  if (netdev == nullptr || netdev->has_bond()) return netdev;
  const v1::NetInterface* const master = FindNetdev(snapshot, netdev->master());
  return master != nullptr && master->has_bond() ? master : nullptr;
}

// "0000:3b:00" of "0000:3b:00.1": the functions of one card share it.
std::string CardOf(const std::string& pci_address) {
  return pci_address.substr(0, pci_address.find('.'));
}

struct Members {
  std::vector<std::string> names;           // Of hardware
  std::set<std::string> cards;              // By PCI, or one name for what the same GUID makes one
  std::vector<std::string> with_device;     // "mlx5_2"
  std::vector<std::string> without_device;  // "0000:3b:00.1"
  bool mlx5 = false;
};

const v1::RdmaDevice* DeviceOn(const v1::NodeSnapshot& snapshot, const std::string& pci_address) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    if (device.pci_address() == pci_address && device.ports_size() > 0 &&
        device.driver() != "rxe" && device.driver() != "siw")
      return &device;
  return nullptr;
}

Members MembersOf(const v1::NodeSnapshot& snapshot, const v1::NetInterface& bond) {
  Members members;
  for (const std::string& name : bond.bond().members()) {
    const v1::NetInterface* const netdev = FindNetdev(snapshot, name);
    if (netdev == nullptr || !netdev->has_pci_address()) continue;
    members.names.push_back(name);
    const v1::RdmaDevice* const device = DeviceOn(snapshot, netdev->pci_address());
    // Halves of a socket-direct card sit on two buses and share the card's GUID.
    members.cards.insert(device != nullptr && device->has_sys_image_guid()
                             ? device->sys_image_guid()
                             : CardOf(netdev->pci_address()));
    if (device != nullptr)
      members.with_device.push_back(device->name());
    else
      members.without_device.push_back(netdev->pci_address());
    members.mlx5 = members.mlx5 || netdev->driver() == "mlx5_core";
  }
  // A function without device has no GUID to tell; its address does.
  if (members.without_device.size() == 1 && members.with_device.size() == 1) {
    std::set<std::string> by_address;
    for (const std::string& name : members.names)
      by_address.insert(CardOf(FindNetdev(snapshot, name)->pci_address()));
    members.cards = std::move(by_address);
  }
  return members;
}

// Modes that mlx5 does in hardware: drivers/net/ethernet/mellanox/mlx5/core/lag/lag.c.
bool IsModeOfHardware(const std::string& mode) {
  return mode.empty() || mode == "active-backup" || mode == "balance-xor" || mode == "802.3ad";
}

void Decide(v1::RoceLag& lag, bool formed, std::string reason) {
  lag.set_formed(formed);
  lag.set_reason(std::move(reason));
}

// From the surest fact to the least.
void Judge(const v1::RdmaDevice& device, const v1::NetInterface& bond, const Members& members,
           v1::RoceLag& lag) {
  const std::string& mode = bond.bond().mode();
  if (lag.has_state())
    return Decide(lag, lag.state() == "active",
                  Format("the driver's debugfs reports {}", Quoted(lag.state())));
  if (device.name().find("_bond_") != std::string::npos)
    return Decide(lag, true, Format("the driver named the device {}", device.name()));
  if (members.names.size() < 2)
    return Decide(lag, false,
                  Format("{} has {} member on hardware", bond.name(), members.names.size()));
  if (members.cards.size() > 1)
    return Decide(
        lag, false,
        Format("members {} sit on {} cards", Join(members.names, " and "), members.cards.size()));
  if (!IsModeOfHardware(mode))
    return Decide(lag, false, Format("no hardware does bond mode {}", mode));
  if (members.with_device.size() > 1)
    return Decide(lag, false,
                  Format("each member has an RDMA device of its own: {}",
                         Join(members.with_device, " and ")));
  if (members.with_device.size() == 1 && members.mlx5)
    return Decide(
        lag, true,
        Format("one RDMA device for the card: {} has none", Join(members.without_device, " and ")));
  lag.set_reason("neither the driver nor the RDMA devices tell");
}

Status InspectLag(const Host& host, v1::NodeSnapshot& out) {
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    for (v1::Port& port : *device.mutable_ports()) {
      if (port.link_layer() == v1::LINK_LAYER_INFINIBAND) continue;
      const v1::NetInterface* const bond = BondOf(out, port);
      if (bond == nullptr || !device.has_pci_address()) continue;
      v1::RoceLag& lag = *port.mutable_lag();
      lag.set_bond(bond->name());
      // debugfs needs root; without it the other facts suffice: not a gap.
      const auto state =
          host.root.Text("sys/kernel/debug/mlx5/" + device.pci_address() + "/lag/state");
      if (state.ok() && !state->empty()) lag.set_state(*state);
      Judge(device, *bond, MembersOf(out, *bond), lag);
      if (lag.formed()) port.set_netdev(bond->name());
    }
  }
  return {};
}

}  // namespace

extern const Inspector roce_lag = {
    .name = kRoceLagName,
    .doc = "Whether a bond has one RDMA device (RoCE LAG).",
    .inspect = InspectLag,
};

}  // namespace fabric::inspect
