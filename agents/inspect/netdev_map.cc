#include <algorithm>

#include "agents/inspect/attributes.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/parse/parse_net.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kNetdevMapName = "netdev_map";
constexpr const char* kNetdevs = "sys/class/net";
constexpr std::string_view kLowerPrefix = "lower_";

// One way to find the netdev of a port; an empty name when it does not say.
struct Port {
  const Host& host;
  const v1::RdmaDevice& device;
  const v1::Port& port;
};

std::string ByNetlink(const Port& of, const std::vector<host::RdmaLinkInfo>& links) {
  for (const host::RdmaLinkInfo& link : links)
    if (link.port == of.port.number() && link.netdev_name && IsPlainName(*link.netdev_name))
      return *link.netdev_name;
  return {};
}

// Of a bond or VLAN, or a VLAN above a bond, the netdev below that sits on the device's own PCI
// function; empty when there is none.
std::string OnFunction(const Port& of, const std::string& netdev, int depth) {
  constexpr int kDepthMax = 3;
  const std::string path = std::string(kNetdevs) + "/" + netdev;
  const Result<Dir> dir = of.host.root.Sub(path);
  if (!dir.ok()) return {};
  if (ReadParent(of.host, path, *dir).pci_address == of.device.pci_address()) return netdev;
  const Result<std::vector<std::string>> names = dir->Names();
  if (!names.ok() || depth == kDepthMax) return {};
  for (const std::string& name : *names) {
    if (!name.starts_with(kLowerPrefix)) continue;
    const std::string lower = name.substr(kLowerPrefix.size());
    if (!IsPlainName(lower)) continue;
    if (std::string found = OnFunction(of, lower, depth + 1); !found.empty()) return found;
  }
  return {};
}

std::string Lower(const Port& of, const std::string& netdev) {
  if (!of.device.has_pci_address()) return netdev;
  const std::string lower = OnFunction(of, netdev, 0);
  return lower.empty() ? netdev : lower;
}

std::string ByGid(const Port& of) {
  for (const v1::Gid& gid : of.port.gids())
    if (gid.has_netdev()) return Lower(of, gid.netdev());
  return {};
}

// Representors of a switchdev share the function of the port they belong to.
bool IsRepresentor(const Dir& netdev) {
  const Result<std::string> port_name = netdev.Text("phys_port_name");
  return port_name.ok() && IsRepresentorPort(*port_name);
}

// Port of its card that a netdev is, counted from 1. Drivers of several ports on one function
// fill in dev_port, old ones dev_id.
std::uint32_t PortOfNetdev(const Dir& netdev) {
  const auto number = [&](const std::string& name) {
    const Result<std::string> text = netdev.Text(name);
    if (!text.ok()) return std::uint32_t{0};
    const bool hex = text->starts_with("0x");
    const auto value = ParseNumber<std::uint32_t>(*text, hex ? 16 : 10);
    return value.ok() ? std::min(*value, std::uint32_t{255}) : 0;
  };
  return std::max(number("dev_id"), number("dev_port")) + 1;
}

bool IsNetdevOfPort(const Port& of, const std::string& name, const Dir& netdev) {
  return IsPlainName(name) && !IsRepresentor(netdev) && PortOfNetdev(netdev) == of.port.number();
}

// A tree whose function directories were not captured still has the netdevs with their own links.
std::string AmongAllNetdevs(const Port& of, const Parent& parent) {
  const Result<Dir> netdevs = of.host.root.Sub(kNetdevs);
  const Result<std::vector<std::string>> names =
      netdevs.ok() ? netdevs->Names() : Result<std::vector<std::string>>(netdevs.status());
  if (!names.ok() || !parent.pci_address) return {};
  for (const std::string& name : *names) {
    const Result<Dir> netdev = netdevs->Sub(name);
    if (!netdev.ok() || !IsNetdevOfPort(of, name, *netdev)) continue;
    const Parent other = ReadParent(of.host, std::string(kNetdevs) + "/" + name, *netdev);
    if (other.pci_address == parent.pci_address && other.subfunction == parent.subfunction)
      return name;
  }
  return {};
}

std::string ByPciFunction(const Port& of) {
  const std::string path = RdmaPath(of.device);
  const Result<Dir> device = of.host.root.Sub(path);
  if (!device.ok()) return {};
  const Parent parent = ReadParent(of.host, path, *device);
  const Result<Dir> function = OpenFunction(of.host, *device, parent);
  const Result<Dir> netdevs = function.ok() ? function->Sub("net") : Result<Dir>(function.status());
  const Result<std::vector<std::string>> names =
      netdevs.ok() ? netdevs->Names() : Result<std::vector<std::string>>(netdevs.status());
  if (!names.ok()) return of.host.captured ? AmongAllNetdevs(of, parent) : std::string();
  for (const std::string& name : *names) {
    const Result<Dir> netdev = netdevs->Sub(name);
    if (netdev.ok() && IsNetdevOfPort(of, name, *netdev)) return name;
  }
  return {};
}

std::string ByParentFile(const Port& of) {
  const Result<std::string> parent = of.host.root.Text(RdmaPath(of.device) + "/parent");
  return parent.ok() && IsPlainName(*parent) ? *parent : std::string();
}

std::string FindNetdev(const Port& of, const std::vector<host::RdmaLinkInfo>& links) {
  if (std::string netdev = ByNetlink(of, links); !netdev.empty()) return netdev;
  // With a bond above it, the GIDs of an rxe device name the bond; its parent file does not.
  if (std::string netdev = ByParentFile(of); !netdev.empty()) return netdev;
  if (std::string netdev = ByGid(of); !netdev.empty()) return netdev;
  return ByPciFunction(of);
}

// On InfiniBand IPoIB is a choice, and EFA devices have no netdev of their own at all.
bool HasNone(const v1::RdmaDevice& device, const v1::Port& port) {
  return port.link_layer() == v1::LINK_LAYER_INFINIBAND || device.driver() == "efa";
}

Status MapNetdevs(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    const auto info = by_name.find(device.name());
    auto links = info == by_name.end()
                     ? Result<std::vector<host::RdmaLinkInfo>>(std::vector<host::RdmaLinkInfo>())
                     : host.rdma.Links(info->second.index);
    if (!links.ok())
      AddGap(out, kNetdevMapName, device.name(), "netlink rdma links", links.status());
    if (!links.ok()) links = std::vector<host::RdmaLinkInfo>();
    for (v1::Port& port : *device.mutable_ports()) {
      const std::string netdev = FindNetdev({host, device, port}, *links);
      if (!netdev.empty())
        port.set_netdev(netdev);
      else if (!HasNone(device, port))
        AddGap(out, kNetdevMapName, PortName(device, port),
               PortPath(device, port) + "/gid_attrs/ndevs",
               Status(Code::kNotFound, "neither RDMA netlink nor GIDs nor PCI name a netdev"));
    }
  }
  return {};
}

}  // namespace

extern const Inspector netdev_map = {
    .name = kNetdevMapName,
    .doc = "Netdev of each RDMA port.",
    .inspect = MapNetdevs,
};

}  // namespace fabric::inspect
