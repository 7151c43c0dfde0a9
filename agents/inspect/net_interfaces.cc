#include <algorithm>
#include <map>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "net_interfaces";
constexpr const char* kClass = "sys/class/net";
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
bool IsAboveHardware(const Dir& netdev) {
  const Result<std::vector<std::string>> names = netdev.Names();
  return names.ok() && std::any_of(names->begin(), names->end(), [&](const std::string& name) {
           return name.starts_with("lower_") && netdev.Has(name + "/device");
         });
}

// The netdevs worth a place in the snapshot: a node with a thousand containers has thousands more.
bool Matters(const v1::NodeSnapshot& snapshot, const std::string& name, const Dir& netdev) {
  return netdev.Has("device") || CarriesRdma(snapshot, name) || IsAboveHardware(netdev);
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

// The name that ethtool gives is the one people know; firmware versions are only there.
void ReadDriver(const Host& host, const Attributes& files, v1::NetInterface& netdev) {
  const Parent parent = ReadParent(files.dir());
  if (parent.driver) netdev.set_driver(*parent.driver);
  if (parent.pci_address) netdev.set_pci_address(*parent.pci_address);
  const Result<host::DriverInfo> info = host.ethtool.Driver(netdev.name());
  if (!info.ok()) return;
  if (!info->driver.empty()) netdev.set_driver(info->driver);
  // Drivers that have none say "N/A" or leave it blank.
  if (!info->firmware.empty() && info->firmware != "N/A") netdev.set_firmware(info->firmware);
}

void InspectNetdev(const Host& host, const Attributes& files, bool carries_rdma,
                   v1::NetInterface& netdev) {
  if (auto index = files.Parsed("ifindex", ParseDecimal<std::uint32_t>)) netdev.set_index(*index);
  if (auto mac = files.Parsed("address", ParseMac)) netdev.set_mac(*mac);
  if (auto mtu = files.Parsed("mtu", ParseDecimal<std::uint32_t>)) netdev.set_mtu_bytes(*mtu);
  ReadLink(files, carries_rdma, netdev);
  ReadDriver(host, files, netdev);
}

void AddAddresses(const Host& host, v1::NodeSnapshot& out) {
  const Result<std::vector<host::InterfaceAddress>> addresses = host.addresses.Addresses();
  if (!addresses.ok()) return AddGap(out, kName, "", "netlink addresses", addresses.status());
  for (v1::NetInterface& netdev : *out.mutable_net_interfaces()) {
    for (const host::InterfaceAddress& address : *addresses)
      if (netdev.has_index() && netdev.index() == address.netdev_index)
        netdev.add_addresses(address.address);
    std::sort(netdev.mutable_addresses()->begin(), netdev.mutable_addresses()->end());
  }
}

Status InspectNetInterfaces(const Host& host, v1::NodeSnapshot& out) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   PlainNames(host, kClass, {.snapshot = out, .inspector = kName, .subject = ""}));
  for (const std::string& name : names) {
    const Gaps gaps{.snapshot = out, .inspector = kName, .subject = name};
    const std::string path = std::string(kClass) + "/" + name;
    if (name == "bonding_masters") continue;  // A file among the links.
    const Result<Attributes> files = Attributes::Open(host, path, gaps);
    if (!files.ok()) {
      gaps.Add(path, files.status());
      continue;
    }
    if (!Matters(out, name, files->dir())) continue;
    v1::NetInterface& netdev = *out.add_net_interfaces();
    netdev.set_name(name);
    InspectNetdev(host, *files, CarriesRdma(out, name), netdev);
  }
  if (!out.net_interfaces().empty()) AddAddresses(host, out);
  return {};
}

}  // namespace

extern const Inspector net_interfaces = {
    .name = kName,
    .doc = "Netdevs of hardware or RDMA: address, MTU, state, speed, driver, firmware.",
    .inspect = InspectNetInterfaces,
};

}  // namespace fabric::inspect
