#include <algorithm>
#include <map>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/parse/parse_net.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kNetInterfacesName = "net_interfaces";
constexpr const char* kNetClass = "sys/class/net";
constexpr std::string_view kLower = "lower_";
constexpr std::string_view kUpper = "upper_";
constexpr std::uint64_t kBitsPerMegabit = 1'000'000;

template <class Integer>
Result<Integer> ParseDecimal(std::string_view text) {
  return ParseNumber<Integer>(text);
}

Result<bool> ParseCarrier(std::string_view text) {
  if (text == "0" || text == "1") return text == "1";
  return Status(Code::kInvalidArgument, "expected 0 or 1, saw " + Quoted(text));
}

// A bond or VLAN over something that is a piece of hardware.
bool IsAboveHardware(const Dir& netdev, const std::vector<std::string>& entries) {
  return std::any_of(entries.begin(), entries.end(), [&](const std::string& name) {
    return name.starts_with(kLower) && netdev.Has(name + "/device");
  });
}

// The netdevs worth a place in the snapshot: a node with a thousand containers has thousands more.
// Without links to tell, a capture's bonds are worth it.
bool Matters(const v1::NodeSnapshot& snapshot, const std::string& name, const Dir& netdev,
             const std::vector<std::string>& entries) {
  const auto has = [&](std::string_view entry) {
    return std::find(entries.begin(), entries.end(), entry) != entries.end();
  };
  return has("device") || has("bonding") || CarriesRdma(snapshot, name) ||
         IsAboveHardware(netdev, entries);
}

// Carrier and speed of an interface that is down fail with EINVAL; a driver that does not know
// its speed says -1.
void ReadLink(const Attributes& files, bool carries_rdma, v1::NetInterface& netdev) {
  if (auto state = files.Parsed("operstate", ParseOperState)) netdev.set_oper_state(*state);
  const bool up = netdev.oper_state() == v1::OPER_STATE_UP;
  const Result<std::string> carrier = files.dir().Text("carrier");
  if (carrier.ok() || up)
    if (auto value = files.Parsed("carrier", ParseCarrier)) netdev.set_carrier(*value);
  const Result<std::string> text = files.dir().Text("speed");
  const auto speed =
      text.ok() ? ParseNumber<std::int64_t>(*text) : Result<std::int64_t>(text.status());
  constexpr std::int64_t kUnknown = 0xffffffff;  // How old kernels print -1.
  if (speed.ok() && *speed > 0 && *speed < kUnknown)
    netdev.set_speed_bps(static_cast<std::uint64_t>(*speed) * kBitsPerMegabit);
  else if (!speed.ok() && speed.status().code() == Code::kInvalidArgument)
    files.Gap("speed", speed.status());
  else if (up && carries_rdma)
    files.Gap("speed", speed.ok() ? Status(Code::kUnimplemented, "the driver reports no speed")
                                  : speed.status());
}

// Kinds that the netdev alone decides; function_class joins the rest from the RDMA devices.
void Classify(const Parent& parent, v1::NetInterface& netdev) {
  v1::FunctionClass& function = *netdev.mutable_function();
  const auto decide = [&](v1::FunctionKind kind, std::string reason) {
    function.set_kind(kind);
    function.set_counters_allowed(kind != v1::FUNCTION_KIND_REPRESENTOR);
    function.set_reason(std::move(reason));
  };
  if (IsRepresentorPort(netdev.physical_port_name()))
    decide(
        v1::FUNCTION_KIND_REPRESENTOR,
        Format("port name {}: the switch side of another function", netdev.physical_port_name()));
  else if (parent.subfunction)
    decide(v1::FUNCTION_KIND_SUBFUNCTION, "auxiliary device " + *parent.subfunction);
  else if (parent.virtual_function)
    decide(v1::FUNCTION_KIND_VIRTUAL, "virtual function of " + parent.physical_function.value_or(
                                                                   "a function of this machine"));
  else if (parent.pci_address)
    decide(v1::FUNCTION_KIND_PHYSICAL, "PCI function " + *parent.pci_address);
  else if (!parent.there)
    decide(v1::FUNCTION_KIND_SOFTWARE, "no device below it");
  else
    netdev.clear_function();
}

void SetIfText(const std::string& text, const auto& set) {
  if (!text.empty() && text != "N/A") set(text);  // Drivers that have none say "N/A".
}

// The name that ethtool gives is the one people know; firmware versions are only there. Drivers of
// the kernel give its release for their version.
void ReadDriver(const Host& host, const Attributes& files, v1::NetInterface& netdev) {
  const Parent parent = ReadParent(host, files.path(), files.dir());
  if (parent.driver) netdev.set_driver(*parent.driver);
  if (parent.pci_address) netdev.set_pci_address(*parent.pci_address);
  Classify(parent, netdev);
  const Result<host::DriverInfo> info = host.ethtool.Driver(netdev.name());
  if (info.ok()) {
    SetIfText(info->driver, [&](const std::string& text) { netdev.set_driver(text); });
    SetIfText(info->version, [&](const std::string& text) { netdev.set_driver_version(text); });
    SetIfText(info->firmware, [&](const std::string& text) { netdev.set_firmware(text); });
  }
  if (netdev.has_driver_version() || !netdev.has_driver()) return;
  const auto version = host.root.Text("sys/module/" + netdev.driver() + "/version");
  if (version.ok()) SetIfText(*version, [&](const auto& text) { netdev.set_driver_version(text); });
}

// Of the live machine only. A driver without these settings is healthy: no gap.
void ReadLinkSettings(const Host& host, const Gaps& gaps, v1::NetInterface& netdev) {
  const Result<host::LinkSettings> link = host.ethtool.Link(netdev.name());
  if (link.ok()) {
    netdev.set_autonegotiation(link->autonegotiation);
    if (link->lanes) netdev.set_lanes(*link->lanes);
    if (link->speed_max_bps) netdev.set_speed_max_bps(*link->speed_max_bps);
  }
  const Result<std::string> fec = host.ethtool.Fec(netdev.name());
  if (fec.ok()) netdev.set_fec(*fec);
  for (const Status& status : {link.status(), fec.status()}) {
    const Code code = status.code();
    if (status.ok() || code == Code::kUnimplemented || code == Code::kNotFound) continue;
    return gaps.Add("netlink ethtool " + netdev.name(), status);
  }
}

// dev_port is the one that drivers fill in now; old ones had dev_id, in hexadecimal.
void ReadPortIndex(const Dir& files, v1::NetInterface& netdev) {
  std::optional<std::uint32_t> index;
  for (const char* name : {"dev_port", "dev_id"}) {
    const Result<std::string> text = files.Text(name);
    if (!text.ok()) continue;
    const auto number = ParseNumber<std::uint32_t>(*text, text->starts_with("0x") ? 16 : 10);
    if (number.ok()) index = std::max(index.value_or(0), *number);
  }
  if (index) netdev.set_port_index(*index);
}

void InspectNetdev(const Host& host, const Attributes& files, const Gaps& gaps, bool carries_rdma,
                   v1::NetInterface& netdev) {
  if (auto index = files.Parsed("ifindex", ParseDecimal<std::uint32_t>)) netdev.set_index(*index);
  if (auto mac = files.Parsed("address", ParseMac)) netdev.set_mac(*mac);
  if (auto mtu = files.Parsed("mtu", ParseDecimal<std::uint32_t>)) netdev.set_mtu_bytes(*mtu);
  if (auto type = files.Parsed("type", ParseDecimal<std::uint32_t>, Absence::kIsFine))
    netdev.set_hardware_type(*type);
  // EOPNOTSUPP of drivers that have no names for their ports.
  if (const auto name = files.dir().Text("phys_port_name"); name.ok() && IsPlainName(*name))
    netdev.set_physical_port_name(*name);
  if (const auto count = files.dir().Number<std::uint64_t>("carrier_down_count"); count.ok())
    netdev.set_carrier_down_count(*count);
  ReadPortIndex(files.dir(), netdev);
  ReadLink(files, carries_rdma, netdev);
  ReadDriver(host, files, netdev);
  ReadLinkSettings(host, gaps, netdev);
}

// Links to the netdevs above and below, by their names alone.
void ReadNeighbours(const std::vector<std::string>& entries, v1::NetInterface& netdev) {
  for (const std::string& entry : entries) {
    if (!IsPlainName(entry)) continue;
    if (entry.starts_with(kLower)) netdev.add_lowers(entry.substr(kLower.size()));
    if (entry.starts_with(kUpper)) netdev.add_uppers(entry.substr(kUpper.size()));
  }
}

void AddAddresses(const Host& host, v1::NodeSnapshot& out) {
  const Result<std::vector<host::InterfaceAddress>> addresses = host.addresses.Addresses();
  if (!addresses.ok())
    return AddGap(out, kNetInterfacesName, "", "netlink addresses", addresses.status());
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    for (const host::InterfaceAddress& address : *addresses)
      if (netdev.has_index() && netdev.index() == address.netdev_index)
        netdev.add_addresses(address.address);
    std::sort(netdev.mutable_addresses()->begin(), netdev.mutable_addresses()->end());
  }
}

// A netdev with only its link captured: its name, and its place from the link. Ignores software
// netdevs.
void AddLostNetdev(const Host& host, const std::string& path, const Gaps& gaps,
                   const Status& status, v1::NodeSnapshot& out) {
  const Parent parent = ReadParentOfLostEntry(host, path);
  const Result<std::string> link = host.root.LinkTarget(path);
  if (link.ok() && link->find("/virtual/") != std::string::npos) return;
  if (parent.pci_address) {
    v1::NetInterface& netdev = *out.add_net_interfaces();
    netdev.set_name(gaps.subject);
    netdev.set_pci_address(*parent.pci_address);
    if (parent.driver) netdev.set_driver(*parent.driver);
    Classify(parent, netdev);
  }
  gaps.Add(path, LostEntryStatus(host, path, status));
}

Status InspectNetInterfaces(const Host& host, v1::NodeSnapshot& out) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   PlainNames(host, kNetClass,
                              {.snapshot = out, .inspector = kNetInterfacesName, .subject = ""}));
  for (const std::string& name : names) {
    const Gaps gaps{.snapshot = out, .inspector = kNetInterfacesName, .subject = name};
    const std::string path = std::string(kNetClass) + "/" + name;
    if (name == "bonding_masters") continue;  // A file among the links.
    const Result<Attributes> files = Attributes::Open(host, path, gaps);
    if (!files.ok()) {
      AddLostNetdev(host, path, gaps, files.status(), out);
      continue;
    }
    const Result<std::vector<std::string>> entries = files->dir().Names();
    if (!entries.ok() || !Matters(out, name, files->dir(), *entries)) continue;
    v1::NetInterface& netdev = *out.add_net_interfaces();
    netdev.set_name(name);
    InspectNetdev(host, *files, gaps, CarriesRdma(out, name), netdev);
    ReadNeighbours(*entries, netdev);
  }
  if (!out.net_interfaces().empty()) AddAddresses(host, out);
  return {};
}

}  // namespace

extern const Inspector net_interfaces = {
    .name = kNetInterfacesName,
    .doc = "Netdevs of hardware or RDMA: address, MTU, state, link, driver, firmware, kind.",
    .inspect = InspectNetInterfaces,
};

}  // namespace fabric::inspect
