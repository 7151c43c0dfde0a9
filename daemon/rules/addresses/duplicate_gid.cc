#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/uniqueness_rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// Link-local ones are made from the MAC and reach no further than the link. Those of InfiniBand are
// made of the port GUID, which duplicate_port_guid judges.
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

// One address that shows on several devices of a node: those of a bond, or two software devices
// over one netdev.
bool IsOneAddress(const KeyHolder& a, const KeyHolder& b) {
  return IsSameNode(a, b) && !a.netdev.empty() && a.netdev == b.netdev;
}

std::string Show(const KeyHolder& holder) {
  for (const v1::Gid& gid : holder.member.port->port->gids())
    if (gid.index() == holder.index && !gid.ipv4().empty()) return gid.ipv4();
  return std::string(holder.key.text);
}

std::string Source(const KeyHolder& holder) {
  return PortFile(*holder.member.port, Format("gids/{}", *holder.index));
}

std::vector<v1::Remedy> Remedies(const KeyHolder& last) {
  return {ToRemedy({.command = Format("ip address del {} dev {}", Show(last), last.netdev),
                    .interrupts_traffic = true,
                    .note = "On the one that should not have it; then give it its own."})};
}

constexpr UniquenessRule kGids = {.what = "GID",
                                  .keys = Gids,
                                  .same = IsOneAddress,
                                  .show = Show,
                                  .source = Source,
                                  .remedies = Remedies};

}  // namespace

extern const Rule duplicate_gid = {
    .id = "duplicate_gid",
    .title = "No GID of RDMA over Ethernet but link-local ones is on two ports of the fleet",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_FLEET,
    .why =
        "Two ports with one address: connections are reset, or reach the wrong node, depending "
        "on which of them answered last. It comes from cloned images and from typing errors.",
    .source = "InfiniBand specification, GID; RFC 5227 on duplicate IPv4 addresses",
    .needs = {Input::kGids},
    .fix = "ip address del ADDRESS dev NETDEV, on the one that should not have it",
    .uniqueness_rule = &kGids,
};

}  // namespace fabric::rules
