#include <algorithm>
#include <map>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/function_role.h"
#include "agents/inspect/pci_models.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kFunctionClassName = "function_class";

struct Kind {
  v1::FunctionKind kind = v1::FUNCTION_KIND_UNSPECIFIED;
  std::string reason;
  bool owner_is_here = false;  // The physical function that speaks for it is on this machine.
};

bool HasFormedLag(const v1::RdmaDevice& device) {
  return std::any_of(device.ports().begin(), device.ports().end(),
                     [](const v1::Port& port) { return port.lag().formed(); });
}

// All ports of it are the switch side of other functions.
bool IsRepresentor(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  if (device.ports().empty()) return false;
  return std::all_of(device.ports().begin(), device.ports().end(), [&](const v1::Port& port) {
    const v1::NetInterface* const netdev = FindNetdev(snapshot, port.netdev());
    return netdev != nullptr && netdev->function().kind() == v1::FUNCTION_KIND_REPRESENTOR;
  });
}

Kind KindOf(const Host& host, const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  const std::string path = RdmaPath(device);
  const Result<Dir> dir = host.root.Sub(path);
  const Parent parent = dir.ok() ? ReadParent(host, path, *dir) : ReadParentOfLostEntry(host, path);
  if (device.driver() == "rxe" || device.driver() == "siw")
    return {v1::FUNCTION_KIND_SOFTWARE, Format("software: {}", device.driver())};
  if (IsRepresentor(snapshot, device))
    return {v1::FUNCTION_KIND_REPRESENTOR, "its netdev is a representor", true};
  if (parent.subfunction)
    return {v1::FUNCTION_KIND_SUBFUNCTION,
            Format("sub-function {} of {}", *parent.subfunction, device.pci_address()), true};
  if (parent.virtual_function)
    return {v1::FUNCTION_KIND_VIRTUAL,
            "virtual function of " +
                parent.physical_function.value_or("a physical function of this machine"),
            true};
  const PciModel* const model = device.has_device_id()
                                    ? FindPciModel(device.vendor_id(), device.device_id())
                                    : FindModelOfHcaType(device.hca_type());
  // A guest sees the function that it was given and not the one behind it.
  if (model != nullptr && model->virtual_function)
    return {v1::FUNCTION_KIND_VIRTUAL,
            Format("virtual function ({}) whose physical one is not on this machine", model->name)};
  if (HasFormedLag(device))
    return {v1::FUNCTION_KIND_BOND, Format("bond {} formed", device.ports(0).lag().bond())};
  if (device.has_pci_address())
    return {v1::FUNCTION_KIND_PHYSICAL, "physical function " + device.pci_address()};
  if (!parent.there && dir.ok() && !host.captured)
    return {v1::FUNCTION_KIND_SOFTWARE, "no device below it"};
  return {v1::FUNCTION_KIND_UNSPECIFIED, "no PCI function known"};
}

// HGX boards with NVLink 5 have their NVSwitches behind ConnectX-7 chips of four InfiniBand
// functions each; no adapter card has four. Their vital product data say so too, but to root only.
bool IsNvswitchBridge(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device) {
  constexpr int kFunctions = 4;
  const auto is_connectx7 = [](const v1::RdmaDevice& candidate) {
    return candidate.hca_type() == "MT4129" || candidate.device_id() == "1021";
  };
  const auto chip = [](const v1::RdmaDevice& candidate) {
    return candidate.pci_address().substr(0, candidate.pci_address().find('.'));
  };
  if (!is_connectx7(device) || !device.has_pci_address()) return false;
  return kFunctions == std::count_if(snapshot.rdma_devices().begin(), snapshot.rdma_devices().end(),
                                     [&](const auto& other) {
                                       return is_connectx7(other) && chip(other) == chip(device) &&
                                              other.ports_size() == 1 &&
                                              other.ports(0).link_layer() ==
                                                  v1::LINK_LAYER_INFINIBAND;
                                     });
}

// What vital_product_data has decided stays.
void Classify(const Host& host, const v1::NodeSnapshot& out, v1::RdmaDevice& device) {
  const Kind kind = KindOf(host, out, device);
  v1::FunctionClass& function = *device.mutable_function();
  function.set_kind(kind.kind);
  std::string reason = kind.reason;
  if (function.role() == v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT) {
    reason += "; " + function.reason();
  } else if (kind.kind == v1::FUNCTION_KIND_PHYSICAL && IsNvswitchBridge(out, device)) {
    function.set_role(v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT);
    reason += "; one of four InfiniBand functions of a ConnectX-7, as NVSwitch bridges have";
  } else if (!kind.owner_is_here) {
    function.set_role(v1::FUNCTION_ROLE_FABRIC);
  }
  function.set_reason(std::move(reason));
  // NVSwitch functions refuse counter reads with a firmware error in the kernel log. The counters
  // of a representor are also those of its function.
  function.set_counters_allowed(function.role() != v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT &&
                                kind.kind != v1::FUNCTION_KIND_REPRESENTOR);
}

// A netdev of an RDMA function is what that is; the card's part number is both's.
void JoinNetdevs(v1::NodeSnapshot& out) {
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    const v1::FunctionKind kind = netdev.function().kind();
    for (const v1::RdmaDevice& device : out.rdma_devices()) {
      const bool same_function = netdev.has_pci_address() &&
                                 netdev.pci_address() == device.pci_address() &&
                                 device.function().kind() != v1::FUNCTION_KIND_SOFTWARE;
      if (same_function && device.has_part_number()) netdev.set_board_part(device.part_number());
      const bool carries =
          std::any_of(device.ports().begin(), device.ports().end(),
                      [&](const v1::Port& port) { return port.netdev() == netdev.name(); });
      if (!carries && (!same_function || kind != v1::FUNCTION_KIND_PHYSICAL)) continue;
      netdev.mutable_function()->set_role(device.function().role());
      if (device.function().role() == v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT)
        netdev.mutable_function()->set_counters_allowed(false);
    }
  }
}

// Kernel drivers have only the version that ethtool reports for their netdev.
void FillDriverVersions(v1::NodeSnapshot& out) {
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    if (device.has_driver_version()) continue;
    for (const v1::NetInterface& netdev : out.net_interfaces())
      if (netdev.has_driver_version() && netdev.has_pci_address() &&
          netdev.pci_address() == device.pci_address() && netdev.driver() == device.driver())
        device.set_driver_version(netdev.driver_version());
  }
}

Status InspectFunctions(const Host& host, v1::NodeSnapshot& out) {
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) Classify(host, out, device);
  DecideRoles(host, out);
  JoinNetdevs(out);
  FillDriverVersions(out);
  return {};
}

Status InspectPositions(const Host&, v1::NodeSnapshot& out) {
  DecideRolesByPosition(out);
  JoinNetdevs(out);
  return {};
}

}  // namespace

extern const Inspector function_class = {
    .name = kFunctionClassName,
    .doc = "Kind and role of each function, and whether its counters may be read.",
    .inspect = InspectFunctions,
};

extern const Inspector function_position = {
    .name = "function_position",
    .doc = "Roles of RDMA devices by their distance to GPUs.",
    .inspect = InspectPositions,
};

}  // namespace fabric::inspect
