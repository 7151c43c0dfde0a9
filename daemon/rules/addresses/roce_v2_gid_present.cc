#include <algorithm>
#include <optional>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "proto/gaps.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

void Fail(const PortView& port, Verdicts& out) {
  const auto v2 = [](const v1::Gid& gid) { return gid.type() == v1::GID_TYPE_ROCE_V2; };
  const auto& gids = port.port->gids();
  const auto local = std::count_if(gids.begin(), gids.end(), v2);
  const std::string seen = local > 0      ? "only link-local ones"
                           : gids.empty() ? "no GID at all"
                                          : "none";
  const std::string& netdev = port.port->netdev();
  out.Fail(port.Subject(), Format("RoCE v2 GIDs: {}, expected one with a routable address", seen),
           {ToEvidence(*port.node, {.what = "routable RoCE v2 GIDs",
                                    .expected = "at least 1",
                                    .seen = seen,
                                    .source = PortFile(port, "gids"),
                                    .basis = "rule"})},
           {ToRemedy({.command = Format("ip address add ADDRESS/PREFIX dev {}",
                                        netdev.empty() ? "NETDEV" : netdev),
                      .note = "The kernel makes the GID from the address. Also where the network "
                              "is configured, or a reboot undoes it."})});
}

// The first part of the GID table that could not be read.
std::optional<std::string> UnreadPart(const PortView& port) {
  for (const v1::Gid& gid : port.port->gids())
    if (!gid.has_type() && !gid.link_local())
      return PortFile(port, Format("gid_attrs/types/{}", gid.index()));
  const std::string table = PortFile(port, "gids");
  for (const v1::Gap& gap : port.node->snapshot.gaps())
    if (Touches(gap, table)) return gap.path().starts_with(table) ? gap.path() : table;
  return {};
}

// Cards from before RoCE v2.
bool IsOfRoceV1(const v1::RdmaDevice& device) {
  return device.driver() == "be2net" || device.driver() == "ocrdma" ||
         device.model() == "ConnectX-3";
}

// A port of a bridge or switch of software forwards for others: it has no address of its own, and
// needs none.
bool IsForwarding(const PortView& port) {
  if (port.netdev == nullptr || !port.netdev->has_master()) return false;
  for (const v1::NetInterface& netdev : port.node->snapshot.net_interfaces())
    if (netdev.name() == port.netdev->master()) return !netdev.has_bond();
  return false;
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.rail || !IsRoce(port) || !IsUp(port) || IsOfRoceV1(*port.device)) continue;
    if (fleet::UsableGid(*port.device, *port.port) != nullptr)
      out.Pass();
    else if (const auto unread = UnreadPart(port))
      Unreadable(port, "GIDs", *unread, out);
    else if (!IsForwarding(port))
      Fail(port, out);
  }
}

}  // namespace

extern const Rule roce_v2_gid_present = {
    .id = "roce_v2_gid_present",
    .title = "Every RoCE port has a RoCE v2 GID with an address that is not link-local",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without it the port has no address that other nodes can reach over routed RoCE v2: "
        "jobs fail at connection set-up, or fall back to TCP without saying so. The kernel makes "
        "a GID of each address of the netdev, so this is a lost or missing IP address.",
    .source = "kernel drivers/infiniband: RoCE GID management; RoCE v2 annex A17",
    .needs = {Input::kGids},
    .fix = "ip address add ADDRESS/PREFIX dev NETDEV",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
