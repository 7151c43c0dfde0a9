#include <algorithm>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "rdma_devices";
constexpr const char* kClass = "sys/class/infiniband";
constexpr std::uint32_t kPortsMax = 255;

Result<std::int32_t> ParseInt(std::string_view text) {
  return ParseNumber<std::int32_t>(text);
}

void FromNetlink(const host::RdmaDeviceInfo& info, v1::RdmaDevice& device) {
  if (info.node_guid) device.set_node_guid(ToString(Guid(*info.node_guid)));
  if (info.sys_image_guid) device.set_sys_image_guid(ToString(Guid(*info.sys_image_guid)));
  if (info.node_type && v1::NodeType_IsValid(*info.node_type))
    device.set_node_type(static_cast<v1::NodeType>(*info.node_type));
  if (info.firmware && !info.firmware->empty()) device.set_firmware(*info.firmware);
  if (!info.protocol) return;
  if (const auto protocol = ParseProtocol(*info.protocol); protocol.ok())
    device.set_protocol(*protocol);
}

// hca_type and board_id are there with some drivers only: their absence says nothing.
void FromSysfs(const Attributes& files, v1::RdmaDevice& device) {
  if (!device.has_node_guid())
    if (auto guid = files.Parsed("node_guid", ParseGuidText)) device.set_node_guid(*guid);
  if (!device.has_sys_image_guid())
    if (auto guid = files.Parsed("sys_image_guid", ParseGuidText)) device.set_sys_image_guid(*guid);
  if (!device.has_node_type())
    if (auto type = files.Parsed("node_type", ParseNodeType)) device.set_node_type(*type);
  if (auto text = files.Text("hca_type", Absence::kIsFine)) device.set_hca_type(*text);
  if (auto text = files.Text("board_id", Absence::kIsFine)) device.set_board_id(*text);
  if (auto text = files.Text("node_desc")) device.set_node_description(*text);
}

void ReadFirmware(const Attributes& files, v1::RdmaDevice& device) {
  if (device.has_firmware()) return;
  const Result<std::string> text = files.dir().Text("fw_ver");
  if (!text.ok())
    files.Gap("fw_ver", text.status());
  else if (!text->empty())
    device.set_firmware(*text);
  else if (device.driver() != "rxe")  // Has none, and an empty line says so.
    files.Gap("fw_ver", Status(Code::kUnimplemented, "the driver reports no firmware version"));
}

void ReadPlace(const Attributes& files, v1::RdmaDevice& device) {
  const Parent parent = ReadParent(files.dir());
  if (parent.driver) device.set_driver(*parent.driver);
  if (parent.pci_address) device.set_pci_address(*parent.pci_address);
  if (parent.there) {
    if (!parent.pci_address)
      files.Gap("device", Status(Code::kNotFound, "leads to no PCI function"));
    // -1: the firmware of the machine did not say.
    const auto node = files.Parsed("device/numa_node", ParseInt);
    if (node && *node >= 0) device.set_numa_node(*node);
    return;
  }
  // Software devices have no parent; of them only rxe names the netdev it sits on.
  if (files.dir().Has("parent")) {
    device.set_driver("rxe");
    return;
  }
  const Result<std::string> real = files.dir().RealPath(".");
  if (!real.ok() || real->find("/virtual/") == std::string::npos)
    files.Gap("device", Status(Code::kNotFound, "no link to the PCI function"));
}

void ReadPorts(const Attributes& files, const host::RdmaDeviceInfo* info, v1::RdmaDevice& device) {
  std::vector<std::uint32_t> numbers = files.Numbers("ports", 1, kPortsMax);
  if (numbers.empty() && info != nullptr)
    for (std::uint32_t port = 1; port <= std::min(info->ports, kPortsMax); ++port)
      numbers.push_back(port);
  for (const std::uint32_t number : numbers) {
    v1::Port& port = *device.add_ports();
    port.set_number(number);
    const std::string file = "ports/" + std::to_string(number) + "/link_layer";
    if (auto layer = files.Parsed(file, ParseLinkLayer)) port.set_link_layer(*layer);
  }
}

void InspectDevice(const Host& host, const std::string& name, const host::RdmaDeviceInfo* info,
                   v1::NodeSnapshot& out) {
  v1::RdmaDevice& device = *out.add_rdma_devices();
  device.set_name(name);
  if (info != nullptr) FromNetlink(*info, device);
  const Gaps gaps{.snapshot = out, .inspector = kName, .subject = name};
  const Result<Attributes> files = Attributes::Open(host, RdmaPath(device), gaps);
  if (!files.ok()) return gaps.Add(RdmaPath(device), files.status());
  FromSysfs(*files, device);
  ReadPlace(*files, device);
  ReadFirmware(*files, device);
  ReadPorts(*files, info, device);
  if (device.has_protocol() || device.ports().empty()) return;
  const auto type = device.has_node_type() ? std::optional(device.node_type()) : std::nullopt;
  const auto protocol = ProtocolOf(type, device.ports(0).link_layer(), device.driver());
  if (protocol) device.set_protocol(*protocol);
}

// RDMA netlink and sysfs show the same devices where both are there; either may be missing.
Status InspectRdmaDevices(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  const Result<std::vector<std::string>> listed =
      PlainNames(host, kClass, {.snapshot = out, .inspector = kName, .subject = ""});
  std::set<std::string> names;
  if (listed.ok()) names.insert(listed->begin(), listed->end());
  for (const auto& [name, info] : by_name)
    if (IsPlainName(name)) names.insert(name);
  // A kernel without RDMA has other classes, but not this one: no device, and nothing is amiss.
  if (!listed.ok() && names.empty() &&
      !(listed.status().code() == Code::kNotFound && host.root.Has("sys/class")))
    return listed.status();
  for (const std::string& name : names) {
    const auto info = by_name.find(name);
    InspectDevice(host, name, info == by_name.end() ? nullptr : &info->second, out);
  }
  return {};
}

}  // namespace

extern const Inspector rdma_devices = {
    .name = kName,
    .doc = "RDMA devices: GUIDs, type, protocol, firmware, board, driver, PCI address, NUMA node.",
    .inspect = InspectRdmaDevices,
};

}  // namespace fabric::inspect
