#include <algorithm>
#include <set>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/pci_models.h"
#include "agents/inspect/rdma.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kRdmaDevicesName = "rdma_devices";
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
  if (auto text = files.Text("hw_rev", Absence::kIsFine)) device.set_hardware_revision(*text);
  if (auto text = files.Text("node_desc")) device.set_node_description(*text);
}

// Software has none, and an empty line says so.
void ReadFirmware(const Attributes& files, v1::RdmaDevice& device) {
  if (device.has_firmware()) return;
  const bool software = device.driver() == "rxe" || device.driver() == "siw";
  if (const auto text = files.dir().Text("fw_ver"); software && text.ok() && text->empty()) return;
  if (const auto text = files.Text("fw_ver")) device.set_firmware(*text);
}

// Of an out-of-tree driver; those of the kernel have no version of their own.
void ReadDriverVersion(const Host& host, v1::RdmaDevice& device) {
  if (!device.has_driver()) return;
  const Result<std::string> version = host.root.Text("sys/module/" + device.driver() + "/version");
  if (version.ok() && !version->empty()) device.set_driver_version(*version);
}

void ReadModel(const Dir& function, v1::RdmaDevice& device) {
  const auto id = [&](const char* name) {
    const Result<std::string> text = function.Text(name);
    return text.ok() ? ParsePciId(*text) : std::nullopt;
  };
  if (const auto vendor = id("vendor")) device.set_vendor_id(*vendor);
  if (const auto model = id("device")) device.set_device_id(*model);
}

void ReadFunction(const Host& host, const Attributes& files, const Parent& parent,
                  v1::RdmaDevice& device) {
  if (!parent.pci_address) files.Gap("device", Status(Code::kNotFound, "leads to no PCI function"));
  const Result<Dir> function = OpenFunction(host, files.dir(), parent);
  if (!function.ok()) return files.Gap("device", function.status());
  // A sub-function has its ids one level up.
  const bool within = parent.subfunction && !parent.path.starts_with("sys/");
  const Result<Dir> above = function->Sub(within ? ".." : ".");
  if (above.ok()) ReadModel(*above, device);
  const Result<std::string> text = above.ok() ? above->Text("numa_node") : above.status();
  const auto node = text.ok() ? ParseInt(*text) : Result<std::int32_t>(text.status());
  if (!node.ok()) return files.Gap("device/numa_node", node.status());
  if (*node >= 0) device.set_numa_node(*node);  // -1: the machine's firmware did not say.
}

// rxe and siw sit on a netdev. Old ones have a `device` link all the same, to the netdev's
// function.
std::string SoftwareDriver(const Attributes& files, const v1::RdmaDevice& device) {
  if (files.dir().Has("parent")) return "rxe";
  if (device.node_description() == "Software iWARP stack") return "siw";
  return {};
}

void ReadPlace(const Host& host, const Attributes& files, v1::RdmaDevice& device) {
  if (const std::string driver = SoftwareDriver(files, device); !driver.empty()) {
    device.set_driver(driver);
    const auto netdev = files.Text("parent", Absence::kIsFine);
    if (netdev && IsPlainName(*netdev)) device.set_parent_netdev(*netdev);
    return;
  }
  const Parent parent = ReadParent(host, files.path(), files.dir());
  if (parent.driver) device.set_driver(*parent.driver);
  if (parent.pci_address) device.set_pci_address(*parent.pci_address);
  if (parent.there) {
    ReadFunction(host, files, parent, device);
  } else if (const auto real = files.dir().RealPath(".");
             !real.ok() || real->find("/virtual/") == std::string::npos) {
    files.Gap("device", Status(Code::kNotFound, "no link to the PCI function"));
  }
  const PciModel* const model = device.has_device_id()
                                    ? FindPciModel(device.vendor_id(), device.device_id())
                                    : FindModelOfHcaType(device.hca_type());
  if (model != nullptr) device.set_model(std::string(model->name));
  ReadDriverVersion(host, device);
}

// Of a device of which only the link was captured, with its function perhaps.
void ReadLostPlace(const Host& host, v1::RdmaDevice& device) {
  const Parent parent = ReadParentOfLostEntry(host, RdmaPath(device));
  if (parent.driver) device.set_driver(*parent.driver);
  if (!parent.pci_address) return;
  device.set_pci_address(*parent.pci_address);
  const Result<Dir> function = OpenFunction(host, host.root, parent);
  if (!function.ok()) return;
  ReadModel(*function, device);
  if (const auto node = function->Number<std::int32_t>("numa_node"); node.ok() && *node >= 0)
    device.set_numa_node(*node);
  if (const PciModel* const model = FindPciModel(device.vendor_id(), device.device_id()))
    device.set_model(std::string(model->name));
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
  const Gaps gaps{.snapshot = out, .inspector = kRdmaDevicesName, .subject = name};
  const Result<Attributes> files = Attributes::Open(host, RdmaPath(device), gaps);
  if (!files.ok()) {
    ReadLostPlace(host, device);
    return gaps.Add(RdmaPath(device), LostEntryStatus(host, RdmaPath(device), files.status()));
  }
  FromSysfs(*files, device);
  ReadPlace(host, *files, device);
  ReadFirmware(*files, device);
  ReadPorts(*files, info, device);
  if (device.has_protocol() || device.ports().empty()) return;
  const auto type = device.has_node_type() ? std::optional(device.node_type()) : std::nullopt;
  const auto protocol = ProtocolOf(type, device.ports(0).link_layer(), device.driver());
  if (protocol) device.set_protocol(*protocol);
}

// Shared: every network namespace sees all devices. Captured trees and kernels whose netlink does
// not say it have the parameter of the module.
void ReadNetnsMode(const Host& host, v1::NodeSnapshot& out) {
  constexpr const char* kParameter = "sys/module/ib_core/parameters/netns_mode";
  std::optional<bool> shared;
  if (const auto system = host.rdma.System(); system.ok()) {
    shared = system->netns_shared;
    if (system->copy_on_fork) out.mutable_host()->set_copy_on_fork(*system->copy_on_fork);
  }
  const Result<std::string> text = shared ? Result<std::string>("") : host.root.Text(kParameter);
  if (!shared && text.ok() && (*text == "Y" || *text == "N")) shared = *text == "Y";
  if (shared)
    out.mutable_host()->set_rdma_netns_mode(*shared ? v1::RDMA_NETNS_MODE_SHARED
                                                    : v1::RDMA_NETNS_MODE_EXCLUSIVE);
  else if (!out.rdma_devices().empty())
    AddGap(out, kRdmaDevicesName, "", kParameter,
           text.ok() ? Status(Code::kInvalidArgument, "expected Y or N, saw " + Quoted(*text))
                     : text.status());
}

// RDMA netlink and sysfs show the same devices where both are there; either may be missing.
Status InspectRdmaDevices(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  const Result<std::vector<std::string>> listed =
      PlainNames(host, kClass, {.snapshot = out, .inspector = kRdmaDevicesName, .subject = ""});
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
  ReadNetnsMode(host, out);
  return {};
}

}  // namespace

extern const Inspector rdma_devices = {
    .name = kRdmaDevicesName,
    .doc =
        "RDMA devices: GUIDs, type, protocol, firmware, board, model, driver, PCI address, NUMA "
        "node; the namespace mode.",
    .inspect = InspectRdmaDevices,
};

}  // namespace fabric::inspect
