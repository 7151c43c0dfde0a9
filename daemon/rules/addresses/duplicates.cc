#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

std::string ShowKey(const KeyHolder& holder) {
  return std::string(holder.key.text);
}

// duplicate_gid

// Link-local GIDs are made from the MAC and do not reach past the link. GIDs of InfiniBand are made
// from the port GUID, which duplicate_port_guid judges.
void Gids(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  if (!IsUp(port) || port.port->link_layer() == v1::LINK_LAYER_INFINIBAND) return;
  for (const v1::Gid& gid : port.port->gids())
    if (!gid.link_local() && !gid.gid().empty())
      out.push_back({.member = member,
                     .key = {.text = gid.gid()},
                     .netdev = gid.has_netdev() ? gid.netdev() : port.port->netdev(),
                     .index = gid.index()});
}

// One address that several devices of a node show: those of a bond, or two software devices over
// one netdev.
bool IsSameAddress(const KeyHolder& a, const KeyHolder& b) {
  return !a.netdev.empty() && a.netdev == b.netdev;
}

std::string ShowGid(const KeyHolder& holder) {
  for (const v1::Gid& gid : holder.member.port->port->gids())
    if (gid.index() == holder.index && !gid.ipv4().empty()) return gid.ipv4();
  return ShowKey(holder);
}

std::string GidFile(const KeyHolder& holder) {
  return PortFile(*holder.member.port, Format("gids/{}", *holder.index));
}

std::vector<v1::Remedy> DeleteGid(const KeyHolder& last) {
  return {DeleteDuplicateAddress(ShowGid(last), last.netdev)};
}

constexpr UniquenessRule kGids = {.what = "GID",
                                  .keys = Gids,
                                  .same = IsSameAddress,
                                  .show = ShowGid,
                                  .source = GidFile,
                                  .remedies = DeleteGid};

// duplicate_ip

// Of IPoIB and iWARP. The addresses of RoCE are GIDs, which duplicate_gid judges.
void Addresses(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  if (port.netdev == nullptr || !IsUp(port) || IsRoce(port)) return;
  for (const std::string& address : port.netdev->addresses()) {
    if (address.starts_with("fe80") || address.starts_with("169.254.")) continue;
    out.push_back({.member = member,
                   .key = {.text = std::string_view(address).substr(0, address.find('/'))}});
  }
}

std::string AddressSource(const KeyHolder& holder) {
  return "rtnetlink " + holder.member.port->port->netdev();
}

std::vector<v1::Remedy> DeleteAddress(const KeyHolder& last) {
  return {DeleteDuplicateAddress(last.key.text, last.member.port->port->netdev())};
}

constexpr UniquenessRule kAddresses = {.what = "IP address",
                                       .keys = Addresses,
                                       .same = IsOnOneNode,
                                       .show = ShowKey,
                                       .source = AddressSource,
                                       .remedies = DeleteAddress};

// duplicate_mac

void Macs(const Member& member, std::vector<KeyHolder>& out) {
  const PortView& port = *member.port;
  if (port.netdev == nullptr || port.port->link_layer() != v1::LINK_LAYER_ETHERNET) return;
  const std::string& mac = port.netdev->mac();
  if (mac.size() != 17 || mac == "00:00:00:00:00:00") return;
  out.push_back({.member = member, .key = {.text = mac}});
}

std::string MacFile(const KeyHolder& holder) {
  return NetdevFile(*holder.member.port, "address");
}

std::vector<v1::Remedy> SetMac(const KeyHolder& last) {
  const std::string& netdev = last.member.port->port->netdev();
  return {Query({.command = Format("ethtool -P {}", netdev),
                 .note = "Prints the permanent address of the card."}),
          Change({.command = Format("ip link set dev {0} address $(ethtool -P {0} | awk "
                                    "'{{print $3}}')",
                                    netdev),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsPort,
                  .lasts = UntilReboot("remove the address from the network configuration"),
                  .undo = Format("ip link set dev {} address {}", netdev, last.key.text),
                  .note = "Back to the permanent address, on the port that should not have this "
                          "one. For a virtual machine, change its definition, which was "
                          "cloned."})};
}

// The members of a bond share one address, and so do software devices with their netdev.
constexpr UniquenessRule kMacs = {.what = "MAC address",
                                  .keys = Macs,
                                  .same = IsOnOneNode,
                                  .show = ShowKey,
                                  .source = MacFile,
                                  .remedies = SetMac};

}  // namespace

extern const Rule duplicate_gid = {
    .id = "duplicate_gid",
    .title = "No two Ethernet ports of the fleet have the same GID, link-local GIDs excepted",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "With one address on two ports, connections are reset or reach the wrong node, depending "
        "on which port answered last. Usual causes: cloned images and typing errors.",
    .source = "InfiniBand specification, GID; RFC 5227 on duplicate IPv4 addresses",
    .needs = {Input::kGids},
    .fix = "ip address del ADDRESS dev NETDEV, on the port that should not have it",
    .uniqueness_rule = &kGids,
};

extern const Rule duplicate_ip = {
    .id = "duplicate_ip",
    .title = "No two nodes have the same IP address on IPoIB or iWARP ports",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "With one address on two ports, connections are reset or reach the wrong node. iWARP, and "
        "every application that connects by RDMA-CM over InfiniBand, uses these addresses.",
    .source = "RFC 5227 on duplicate IPv4 addresses",
    .needs = {Input::kNetInterfaces},
    .reads = {{.field = Field::kAddresses, .applies = IsInfinibandLive}},
    .fix = "ip address del ADDRESS dev NETDEV, on the port that should not have it",
    .uniqueness_rule = &kAddresses,
};

extern const Rule duplicate_mac = {
    .id = "duplicate_mac",
    .title = "No two nodes have an RDMA port with the same MAC address",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Switches send frames for a MAC address to the port that used it last, so two ports with "
        "one address take each other's traffic. Usual causes: cloned virtual machines, and "
        "manually set addresses of virtual functions. Link-local GIDs and GUIDs that are made "
        "from the MAC are then equal, too.",
    .source = "IEEE 802.1D on learning; RFC 4291 appendix A on addresses made from a MAC",
    .needs = {Input::kNetInterfaces},
    .reads = {{.field = Field::kMac, .applies = IsEthernetInUse}},
    .fix = "ip link set dev NETDEV address MAC, on the port that should not have it",
    .uniqueness_rule = &kMacs,
};

}  // namespace fabric::rules
