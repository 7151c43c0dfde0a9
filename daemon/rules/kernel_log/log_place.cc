#include "daemon/rules/kernel_log/log_place.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/pcie/pci.h"

namespace fabric::rules {
namespace {

// "3b:00.0" of "DMAR: [DMA Read] Request device [3b:00.0] fault addr"; empty if there is none.
std::string_view RequesterOf(const v1::KernelLogLine& line) {
  constexpr std::string_view kBefore = "equest device [";
  const std::string_view text = line.text();
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + kBefore.size());
  return rest.substr(0, std::min(rest.find(']'), rest.size()));
}

// The only function at the place in any domain; nullptr: none, or several.
const v1::PciFunction* OnlyFunctionAt(const v1::NodeSnapshot& snapshot, std::string_view place) {
  const v1::PciFunction* found = nullptr;
  for (const v1::PciFunction& function : snapshot.pci_functions()) {
    const std::string_view address = function.address();
    const bool fits = address.size() > place.size() && address.ends_with(place) &&
                      address[address.size() - place.size() - 1] == ':';
    if (fits && found != nullptr) return nullptr;
    if (fits) found = &function;
  }
  return found;
}

bool HasFunctionAt(const v1::NodeSnapshot& snapshot, std::string_view place) {
  return std::ranges::any_of(snapshot.pci_functions(), [&](const v1::PciFunction& function) {
    return std::string_view(function.address()).ends_with(place);
  });
}

// The driver of an RDMA card or GPU, or a bridge, wrote the line about its device.
bool IsOfFabricDriver(std::string_view text) {
  constexpr std::string_view kDrivers[] = {"mlx",    "bnxt", "ice ",  "irdma", "i40e", "iavf",
                                           "ionic",  "hns",  "efa ",  "ena ",  "qed",  "cxgb4",
                                           "mana ",  "hfi1", "erdma", "pds_",  "idpf", "nvidia",
                                           "amdgpu", "NVRM", "gaudi", "habana"};
  return text.starts_with("pcieport") ||
         std::ranges::any_of(kDrivers,
                             [&](std::string_view driver) { return text.starts_with(driver); });
}

}  // namespace

std::string_view AddressOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  if (line.has_pci_address()) return line.pci_address();
  const std::string_view place = RequesterOf(line);
  if (place.empty()) return {};
  const v1::PciFunction* const function = OnlyFunctionAt(node.node->snapshot, place);
  return function == nullptr ? std::string_view() : std::string_view(function->address());
}

const fleet::PortView* PortOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const std::string_view address = AddressOf(node, line);
  for (const fleet::PortView& port : node.ports)
    if ((!address.empty() && port.device->pci_address() == address) ||
        (line.has_device() &&
         (port.device->name() == line.device() || port.port->netdev() == line.device())))
      return &port;
  return nullptr;
}

std::string_view NamedCard(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  if (const std::string_view address = AddressOf(node, line); !address.empty())
    return CardOf(address);
  const fleet::PortView* const port = PortOf(node, line);
  return port == nullptr ? std::string_view() : CardOf(port->device->pci_address());
}

const v1::PciFunction* NamedFunction(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  std::string_view address = AddressOf(node, line);
  if (address.empty())
    if (const fleet::PortView* const port = PortOf(node, line); port != nullptr)
      address = port->device->pci_address();
  return FindFunction(node.node->snapshot, address);
}

std::string WhereOf(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const fleet::PortView* const port = PortOf(node, line);
  const std::string_view address = AddressOf(node, line);
  if (port != nullptr)
    return address.empty() ? port->device->name()
                           : Format("{} ({})", port->device->name(), address);
  if (!address.empty()) return std::string(address);
  return line.device().empty() ? std::string(RequesterOf(line)) : line.device();
}

bool HasNoLink(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const std::string_view card = NamedCard(node, line);
  return std::none_of(node.ports.begin(), node.ports.end(), [&](const fleet::PortView& port) {
    return port.port->state() == v1::PORT_STATE_ACTIVE &&
           CardOf(port.device->pci_address()) == card;
  });
}

bool IsOfRdmaCard(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  const std::string_view card = NamedCard(node, line);
  if (card.empty()) return false;
  return std::any_of(node.ports.begin(), node.ports.end(), [&](const fleet::PortView& port) {
    return CardOf(port.device->pci_address()) == card;
  });
}

bool IsOfOtherDevice(const fleet::NodeView& node, const v1::KernelLogLine& line) {
  if (line.category() != "pcie" && line.category() != "iommu") return false;
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  if (snapshot.pci_functions().empty() || IsOfFabricDriver(line.text())) return false;
  if (line.has_pci_address()) return FindFunction(snapshot, line.pci_address()) == nullptr;
  const std::string_view place = RequesterOf(line);
  return !place.empty() && !HasFunctionAt(snapshot, place);
}

}  // namespace fabric::rules
