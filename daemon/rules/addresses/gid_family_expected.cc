#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool IsOfFamily(const v1::Gid& gid, v1::AddressFamily family) {
  if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) return false;
  return (family == v1::ADDRESS_FAMILY_IPV4) != gid.ipv4().empty();
}

void Evaluate(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    const v1::AddressFamily family = port.expected().gid_family();
    if (family == v1::ADDRESS_FAMILY_UNSPECIFIED || !port.rail || !IsRoce(port) || !IsUp(port))
      continue;
    // Without any, it is roce_v2_gid_present's finding.
    const v1::Gid* const usable = fleet::UsableGid(*port.device, *port.port);
    if (usable == nullptr) continue;
    const auto& gids = port.port->gids();
    if (std::any_of(gids.begin(), gids.end(),
                    [&](const v1::Gid& gid) { return IsOfFamily(gid, family); })) {
      out.Pass();
      continue;
    }
    const char* const wanted = family == v1::ADDRESS_FAMILY_IPV4 ? "IPv4" : "IPv6";
    const char* const seen = family == v1::ADDRESS_FAMILY_IPV4 ? "IPv6" : "IPv4";
    const std::string basis = ProfileBasis(*port.expectation);
    out.Fail(
        port.Subject(),
        Format("RoCE v2 GIDs: of {} only, expected one of {} ({})", seen, wanted, basis),
        {ToEvidence(*port.node, {.what = "routable RoCE v2 GIDs",
                                 .expected = wanted,
                                 .seen = Format("{} at index {}", seen, usable->index()),
                                 .source = PortFile(port, "gids"),
                                 .basis = basis})},
        {ToRemedy({.command = Format("ip address add ADDRESS/PREFIX dev {}", port.port->netdev()),
                   .note = "The kernel makes the GID from the address."})});
  }
}

}  // namespace

extern const Rule gid_family_expected = {
    .id = "gid_family_expected",
    .title = "Every RoCE port has a RoCE v2 GID of the address family that the profile says",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs pick GIDs of one family: a port that has only the other one is passed over, or used "
        "with a link-local GID that reaches nobody.",
    .source = "NCCL, NCCL_IB_ADDR_FAMILY; kernel drivers/infiniband/core/roce_gid_mgmt.c",
    .needs = {Input::kGids},
    .profile = {v1::Expectations::kGidFamilyFieldNumber},
    .fix = "ip address add ADDRESS/PREFIX dev NETDEV",
    .evaluate_node = Evaluate,
};

}  // namespace fabric::rules
