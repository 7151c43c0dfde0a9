#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "agents/host/pci_config.h"
#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/pci_cards.h"
#include "agents/inspect/pci_place.h"
#include "agents/inspect/report/pci_text.h"
#include "base/ids.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kPciFunctionsName = "pci_functions";
constexpr const char* kGroups = "sys/kernel/iommu_groups";
constexpr std::uint16_t kRedirects = 0x04 | 0x08 | 0x10 | 0x20;  // PCI_ACS_RR, _CR, _UF, _EC

// Scan over all functions.
struct Scan {
  const Host& host;
  v1::NodeSnapshot& out;
  PciPlaces places;
  std::map<std::string, std::optional<std::string>> group_types;  // By group
  std::optional<std::map<std::string, std::string>> groups;       // By function; read when needed
  std::map<std::string, std::string> slots = {};                  // By address of the card
};

// One function and its attributes, none of which every function has.
struct Function {
  Scan& scan;
  const Attributes& files;
  v1::PciFunction& out;

  std::optional<std::string> Text(const std::string& name) const {
    return files.Text(name, Absence::kMissingOrEmptyIsFine);
  }
  template <class Parse>
  auto Parsed(const std::string& name, Parse parse) const {
    return files.Parsed(name, parse, Absence::kMissingOrEmptyIsFine);
  }
  const Dir& dir() const { return files.dir(); }
};

template <class T>
Result<T> Decimal(std::string_view text) {
  return ParseNumber<T>(Trim(text));
}

// The uevent file has all ids in one read; captures may have only the single files.
void ReadIdentity(const Function& function) {
  v1::PciFunction& out = function.out;
  const std::string uevent = function.Text("uevent").value_or("");
  const auto id = [&](std::string_view key, std::size_t half, const std::string& file) {
    const auto value = PciIdOf(UeventValue(uevent, key), half);
    return value ? value : function.Parsed(file, ParseHex);
  };
  if (const auto vendor = id("PCI_ID", 0, "vendor")) out.set_vendor_id(Format("{:04x}", *vendor));
  if (const auto device = id("PCI_ID", 1, "device")) out.set_device_id(Format("{:04x}", *device));
  if (const auto vendor = id("PCI_SUBSYS_ID", 0, "subsystem_vendor"))
    out.set_subsystem_vendor_id(Format("{:04x}", *vendor));
  if (const auto device = id("PCI_SUBSYS_ID", 1, "subsystem_device"))
    out.set_subsystem_device_id(Format("{:04x}", *device));
  const auto code = ParseHex(UeventValue(uevent, "PCI_CLASS"));
  if (const auto value = code.ok() ? std::optional(*code) : function.Parsed("class", ParseHex))
    out.set_class_code(Format("{:06x}", *value));
  if (const auto driver = function.dir().LinkName("driver"); driver.ok() && IsPlainName(*driver))
    out.set_driver(*driver);
  else if (const auto name = UeventValue(uevent, "DRIVER"); IsPlainName(name))
    out.set_driver(std::string(name));
  else if (uevent.empty() && function.scan.host.captured && !out.class_code().starts_with("0604"))
    function.files.Gap("driver", Status(Code::kNotFound, "neither this link nor uevent is here"));
  if (!out.has_vendor_id() || !out.has_class_code())
    function.files.Gap(out.has_vendor_id() ? "class" : "vendor",
                       Status(Code::kNotFound, "neither this file nor uevent has the id"));
}

void SetLink(std::uint32_t speed, std::uint32_t width, v1::PciLink* (v1::PciFunction::*link)(),
             v1::PciFunction& out) {
  if (speed != 0) (out.*link)()->set_speed_megatransfers_per_second(speed);
  if (width != 0) (out.*link)()->set_width(width);
}

// Link from the kernel's files; for captures without them, from the registers.
void ReadLinks(const Function& function, const host::PciConfig* config) {
  v1::PciFunction& out = function.out;
  const host::PciExpress* const express =
      config != nullptr && config->express ? &*config->express : nullptr;
  const auto speed = function.Parsed("current_link_speed", ParsePciSpeed);
  const auto width = function.Parsed("current_link_width", ParsePciWidth);
  const auto speed_max = function.Parsed("max_link_speed", ParsePciSpeed);
  const auto width_max = function.Parsed("max_link_width", ParsePciWidth);
  SetLink(speed.value_or(express != nullptr ? PciSpeedOfCode(express->speed_code) : 0),
          width.value_or(express != nullptr ? express->width : 0), &v1::PciFunction::mutable_link,
          out);
  SetLink(speed_max.value_or(express != nullptr ? PciSpeedOfCode(express->speed_code_max) : 0),
          width_max.value_or(express != nullptr ? express->width_max : 0),
          &v1::PciFunction::mutable_link_max, out);
  // The kernel creates these files for PCI Express only: their absence is a gap in captures only.
  const bool conventional = config != nullptr && config->capabilities_known && express == nullptr;
  if (!speed && !out.has_link() && function.scan.host.captured && !conventional)
    function.files.Gap("current_link_speed", Status(Code::kNotFound, "No such file or directory"));
}

v1::PciPortType PortType(std::uint8_t type) {
  switch (type) {  // PCI_EXP_TYPE_*
    case 0: return v1::PCI_PORT_TYPE_ENDPOINT;
    case 1: return v1::PCI_PORT_TYPE_LEGACY_ENDPOINT;
    case 4: return v1::PCI_PORT_TYPE_ROOT_PORT;
    case 5: return v1::PCI_PORT_TYPE_UPSTREAM;
    case 6: return v1::PCI_PORT_TYPE_DOWNSTREAM;
    case 7:
    case 8: return v1::PCI_PORT_TYPE_BRIDGE;
    case 9: return v1::PCI_PORT_TYPE_ROOT_COMPLEX_ENDPOINT;
    default: return v1::PCI_PORT_TYPE_UNSPECIFIED;
  }
}

void SetExpress(const host::PciExpress& express, v1::PciFunction& out) {
  if (const auto type = PortType(express.port_type); type != v1::PCI_PORT_TYPE_UNSPECIFIED)
    out.set_port_type(type);
  out.set_max_payload_supported_bytes(express.payload_supported_bytes);
  // The control bits of a virtual function read as zeros.
  if (out.has_physical_function()) return;
  out.set_max_payload_bytes(express.payload_bytes);
  out.set_max_read_request_bytes(express.read_request_bytes);
  out.set_relaxed_ordering(express.relaxed_ordering);
  out.set_extended_tag(express.extended_tag);
}

// ats_capable is set if and only if the extended registers are known: gpu_nic_paths relies on it.
void SetExtended(const host::PciConfig& config, v1::PciFunction& out) {
  out.set_ats_capable(config.translation.has_value());
  if (config.translation) out.set_ats_enabled(config.translation->enabled);
  if (!config.buses || !config.access_control) return;
  v1::PciAcs& acs = *out.mutable_acs();
  acs.set_capability(config.access_control->capability);
  acs.set_control(config.access_control->control);
  acs.set_redirects((config.access_control->control & kRedirects) != 0);
}

std::optional<host::PciConfig> ReadConfig(const Function& function) {
  // Reading the registers of a suspended function would wake it up.
  if (const auto power = function.Text("power_state"); power == "D3cold") {
    function.files.Gap("config",
                       Status(Code::kUnavailable, "the function is powered off (D3cold)"));
    return std::nullopt;
  }
  const Result<host::PciConfig> config = host::ReadPciConfig(function.dir());
  if (!config.ok()) {
    function.files.Gap("config", config.status());
    return std::nullopt;
  }
  if (config->express) SetExpress(*config->express, function.out);
  if (config->extended_known) {
    SetExtended(*config, function.out);
  } else if (!config->capabilities_known) {
    function.files.Gap("config",
                       Status(Code::kPermissionDenied,
                              "only 64 bytes are readable without CAP_SYS_ADMIN: payload and read "
                              "request sizes, relaxed ordering, ATS and ACS are unknown"));
  } else if (config->buses) {
    function.files.Gap("config",
                       Status(Code::kFailedPrecondition,
                              "no extended configuration space beyond 256 bytes: ACS and ATS are "
                              "unknown"));
  }
  return *config;
}

// For captures without links: by the members of all groups.
std::optional<std::string> GroupByMembers(Scan& scan, const std::string& address) {
  if (!scan.groups) {
    scan.groups.emplace();
    const Result<Dir> dir = scan.host.root.Sub(kGroups);
    const auto names = dir.ok() ? dir->Names() : Result<std::vector<std::string>>(dir.status());
    if (names.ok())
      for (const std::string& group : *names)
        if (const Result<Dir> members = dir->Sub(group + "/devices"); members.ok())
          if (const auto functions = members->Names(); functions.ok())
            for (const std::string& function : *functions) scan.groups->emplace(function, group);
  }
  const auto found = scan.groups->find(address);
  return found == scan.groups->end() ? std::nullopt : std::optional(found->second);
}

void ReadIommu(const Function& function) {
  Scan& scan = function.scan;
  std::optional<std::string> group;
  if (const auto link = function.dir().LinkName("iommu_group"); link.ok())
    group = *link;
  else if (scan.host.captured)
    group = GroupByMembers(scan, function.out.address());
  if (!group || !IsPlainName(*group)) {
    // No IOMMU in use; or a copy of the group's folder, which has its type but not its name.
    if (const auto type = function.Text("iommu_group/type")) function.out.set_iommu_type(*type);
    return;
  }
  function.out.set_iommu_group(*group);
  const auto [type, first] = scan.group_types.try_emplace(*group);
  if (first) {
    const std::string path = Format("{}/{}/type", kGroups, *group);
    if (Result<std::string> text = scan.host.root.Text(path); text.ok() && !text->empty())
      type->second = *std::move(text);
    else if (!text.ok())
      AddGap(scan.out, kPciFunctionsName, function.out.address(), path, text.status());
  }
  if (type->second) function.out.set_iommu_type(*type->second);
}

void ReadVirtual(const Function& function) {
  v1::PciFunction& out = function.out;
  if (const auto vfs = function.Parsed("sriov_totalvfs", Decimal<std::uint32_t>)) {
    out.set_sriov_vfs_max(*vfs);
    if (const auto now = function.Parsed("sriov_numvfs", Decimal<std::uint32_t>))
      out.set_sriov_vfs(*now);
  }
  if (const auto physical = PhysicalFunctionOf(function.dir()))
    out.set_physical_function(*physical);
}

void ReadErrors(const Function& function) {
  v1::PciFunction& out = function.out;
  if (const auto total = function.Parsed("aer_dev_correctable", ParseAerTotal))
    out.set_aer_correctable(*total);
  if (const auto total = function.Parsed("aer_dev_nonfatal", ParseAerTotal))
    out.set_aer_nonfatal(*total);
  if (const auto total = function.Parsed("aer_dev_fatal", ParseAerTotal)) out.set_aer_fatal(*total);
}

void ReadFunction(Scan& scan, const PciAddress& address, const std::optional<PciPlace>& place) {
  v1::PciFunction& out = *scan.out.add_pci_functions();
  out.set_address(ToString(address));
  const std::string path = Format("{}/{}", kPciDevices, out.address());
  const Gaps gaps{.snapshot = scan.out, .inspector = kPciFunctionsName, .subject = out.address()};
  if (place) {
    out.set_root_complex(place->root_complex);
    out.mutable_path()->Add(place->bridges.begin(), place->bridges.end());
  } else {
    gaps.Add(path, Status(Code::kNotFound,
                          "position in the PCI tree unknown: no link, no folder below sys/devices, "
                          "and not all bridges above it are present"));
  }
  const Result<Attributes> files = Attributes::Open(scan.host, path, gaps);
  if (!files.ok()) return gaps.Add(path, files.status());
  const Function function{.scan = scan, .files = *files, .out = out};
  const Dir& dir = function.dir();
  if (!dir.Has("vendor") && !dir.Has("uevent") && !dir.Has("config"))
    return gaps.Add(path, Status(Code::kNotFound, "the function was not captured"));
  ReadIdentity(function);
  if (const auto node = function.Parsed("numa_node", Decimal<std::int32_t>); node && *node >= 0)
    out.set_numa_node(*node);
  ReadVirtual(function);
  const std::string card = out.address().substr(0, out.address().find('.'));
  if (const auto slot = scan.slots.find(card); slot != scan.slots.end()) out.set_slot(slot->second);
  const std::optional<host::PciConfig> config = ReadConfig(function);
  if (!out.has_physical_function()) ReadLinks(function, config ? &*config : nullptr);
  ReadIommu(function);
  ReadErrors(function);
}

// GPUs, functions with RDMA, and the other functions of their cards.
std::set<PciAddress> Endpoints(const v1::NodeSnapshot& snapshot) {
  std::set<PciAddress> endpoints;
  const auto card = [](const PciAddress& a) { return std::tuple(a.domain, a.bus, a.device); };
  std::set<std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>> cards;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    const auto address = ParsePciAddress(device.pci_address());
    if (!address.ok()) continue;
    endpoints.insert(*address);
    cards.insert(card(*address));
  }
  for (const v1::NetInterface& netdev : snapshot.net_interfaces()) {
    const auto address = ParsePciAddress(netdev.pci_address());
    if (address.ok() && cards.contains(card(*address))) endpoints.insert(*address);
  }
  for (const v1::Gpu& gpu : snapshot.gpus())
    if (const auto address = ParsePciAddress(gpu.pci_address()); address.ok())
      endpoints.insert(*address);
  return endpoints;
}

// The downstream side of a switch, which has no upstream link. Without a port type: switches are
// pairs of bridges below a root port.
bool IsDownstream(const v1::PciFunction& function) {
  if (function.has_port_type()) return function.port_type() == v1::PCI_PORT_TYPE_DOWNSTREAM;
  return function.class_code().starts_with("0604") && function.path_size() % 2 == 0;
}

void SetSlots(v1::NodeSnapshot& out) {
  std::map<std::string, const v1::PciFunction*> by_address;
  for (const v1::PciFunction& function : out.pci_functions())
    by_address[function.address()] = &function;
  for (v1::PciFunction& function : *out.mutable_pci_functions()) {
    if (function.path().empty() || function.has_physical_function() || IsDownstream(function))
      continue;
    const auto above = by_address.find(*function.path().rbegin());
    if (above == by_address.end() || !above->second->has_link_max() || !function.has_link_max())
      continue;
    *function.mutable_slot_max() = above->second->link_max();
  }
}

// Hot-plug drivers and ACPI name the slots; many machines have none. "0000:3b:00" in slot 3.
void ReadSlots(Scan& scan) {
  const Result<Dir> dir = scan.host.root.Sub("sys/bus/pci/slots");
  const auto names = dir.ok() ? dir->Names() : Result<std::vector<std::string>>(dir.status());
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (const auto address = dir->Text(name + "/address"); address.ok() && IsPlainName(name))
      scan.slots.emplace(*address, name);
}

Status InspectPciFunctions(const Host& host, v1::NodeSnapshot& out) {
  Scan scan{.host = host, .out = out, .places = PciPlaces(host), .group_types = {}, .groups = {}};
  ReadSlots(scan);
  std::map<PciAddress, std::optional<PciPlace>> functions;
  std::set<PciAddress> endpoints = Endpoints(out);
  endpoints.merge(FindRdmaCards(host));
  for (const PciAddress& endpoint : endpoints) {
    const auto place = scan.places.Of(endpoint);
    functions[endpoint] = place;
    if (!place) continue;
    for (std::size_t i = 0; i < place->bridges.size(); ++i) {
      const auto bridge = ParsePciAddress(place->bridges[i]);
      if (!bridge.ok()) continue;
      functions[*bridge] = PciPlace{
          .root_complex = place->root_complex,
          .bridges = {place->bridges.begin(), place->bridges.begin() + static_cast<long>(i)}};
    }
  }
  for (const auto& [address, place] : functions) ReadFunction(scan, address, place);
  SetSlots(out);
  return {};
}

}  // namespace

extern const Inspector pci_functions = {
    .name = kPciFunctionsName,
    .doc = "GPUs, RDMA cards and the bridges above them: position, link, ACS, ATS, IOMMU, errors.",
    .inspect = InspectPciFunctions,
    .wakes = EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kPciFunctionsFieldNumber},
};

}  // namespace fabric::inspect
