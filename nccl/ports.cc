// Which ports NCCL should use. On its own it takes every ACTIVE port of every RDMA device, storage,
// management, software and iWARP ones as well.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nccl/parts.h"
#include "proto/names.h"

namespace fabric::nccl {
namespace {

// Captured trees may hold anything; what goes into a shell must not.
bool IsPlain(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

std::string PhysicalFunctionOf(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  for (const v1::PciFunction& function : snapshot.pci_functions())
    if (function.address() == device.pci_address()) return function.physical_function();
  return {};
}

// The device of the physical function that a virtual one belongs to; without PCI facts any of the
// same driver. nullptr in a guest that was given the virtual function alone.
const v1::RdmaDevice* PhysicalDevice(const v1::NodeSnapshot& snapshot,
                                     const v1::RdmaDevice& device) {
  const std::string address = PhysicalFunctionOf(snapshot, device);
  for (const v1::RdmaDevice& other : snapshot.rdma_devices()) {
    if (other.function().kind() == v1::FUNCTION_KIND_VIRTUAL || &other == &device) continue;
    const bool match = address.empty() ? other.function().kind() == v1::FUNCTION_KIND_PHYSICAL &&
                                             other.driver() == device.driver()
                                       : other.pci_address() == address;
    if (match) return &other;
  }
  return nullptr;
}

std::string OfKind(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  switch (device.function().kind()) {
    case v1::FUNCTION_KIND_VIRTUAL:
      if (const v1::RdmaDevice* physical = PhysicalDevice(snapshot, device))
        return Format("a virtual function; its physical function {} is on this machine",
                      physical->name());
      return {};
    case v1::FUNCTION_KIND_SUBFUNCTION: return "a subfunction";
    case v1::FUNCTION_KIND_REPRESENTOR: return "a representor, the switch side of a function";
    case v1::FUNCTION_KIND_SOFTWARE: return "emulated in software";
    default: break;
  }
  if (device.driver() == "rxe" || device.driver() == "siw") return "emulated in software";
  return {};
}

std::string OfRole(const v1::RdmaDevice& device) {
  const std::string& why = device.function().reason();
  switch (device.function().role()) {
    case v1::FUNCTION_ROLE_STORAGE: return "for storage: " + why;
    case v1::FUNCTION_ROLE_MANAGEMENT: return "for management: " + why;
    case v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT: return "manages NVSwitches: " + why;
    default: return {};
  }
}

// Why NCCL should not use any port of the device; empty when it may.
std::string DeviceObstacle(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  if (!IsPlain(device.name())) return "its name has characters that a shell interprets";
  if (device.protocol() == v1::PROTOCOL_IWARP)
    return "iWARP: NCCL takes it for RoCE and cannot connect";
  if (device.driver() == "efa") return "EFA needs the OFI plugin, not NCCL's own verbs transport";
  if (device.protocol() == v1::PROTOCOL_USNIC) return "usNIC has no RDMA writes";
  const auto& usable = snapshot.job().usable_rdma_devices();
  if (snapshot.has_job() && std::count(usable.begin(), usable.end(), device.name()) == 0)
    return "the job cannot use it: no accessible device file, or no GID in its network namespace";
  if (std::string why = OfKind(snapshot, device); !why.empty()) return why;
  return OfRole(device);
}

bool HasRoutableGid(const v1::Port& port) {
  return std::any_of(port.gids().begin(), port.gids().end(), [](const v1::Gid& gid) {
    return gid.type() == v1::GID_TYPE_ROCE_V2 && !gid.link_local();
  });
}

// Why the port cannot be used now; empty when it can.
std::string PortObstacle(const v1::Port& port) {
  if (!port.has_state()) return "its state is unknown";
  if (port.state() != v1::PORT_STATE_ACTIVE) return Format("it is {}", Name(port.state()));
  if (port.link_layer() == v1::LINK_LAYER_INFINIBAND && port.has_lid() && port.lid() == 0)
    return "it has no LID: no subnet manager has configured it";
  if (port.link_layer() != v1::LINK_LAYER_ETHERNET) return {};
  if (!port.gids().empty() && !HasRoutableGid(port)) return "it has only link-local RoCE v2 GIDs";
  return {};
}

}  // namespace

std::vector<ChosenPort> ChoosePorts(const v1::NodeSnapshot& snapshot, v1::NcclAdvice& advice) {
  std::vector<ChosenPort> chosen;
  std::vector<std::string> names;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    const std::string of_device = DeviceObstacle(snapshot, device);
    for (const v1::Port& port : device.ports()) {
      const std::string obstacle = of_device.empty() ? PortObstacle(port) : of_device;
      v1::NcclPort& said = *(obstacle.empty() ? advice.add_ports() : advice.add_left_out());
      said.set_device(device.name());
      said.set_port(port.number());
      said.set_reason(obstacle);
      if (!obstacle.empty()) continue;
      chosen.push_back({&device, &port, FindNetdev(snapshot, port.netdev())});
      names.push_back(chosen.back().Name());
    }
  }
  if (chosen.empty()) return chosen;
  const auto roce = static_cast<std::size_t>(
      std::count_if(chosen.begin(), chosen.end(), [](const ChosenPort& p) { return p.Roce(); }));
  const std::string kinds = roce == 0               ? "InfiniBand"
                            : roce == chosen.size() ? "RoCE"
                                                    : "InfiniBand and RoCE";
  Set(advice, "NCCL_IB_HCA", "=" + Join(names, ","),
      Format("the ACTIVE {} ports of the fabric, by exact name; left out: {}", kinds,
             advice.left_out_size()));
  if (roce != 0 && roce != chosen.size())
    Undecided(advice, "NCCL_IB_HCA",
              "both InfiniBand and RoCE ports are listed, which cannot connect to each other: "
              "keep the ports of one kind, the fabric of the job");
  return chosen;
}

}  // namespace fabric::nccl
