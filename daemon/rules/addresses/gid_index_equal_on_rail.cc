#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

// A port without any is roce_v2_gid_present's finding.
std::optional<Value> Index(const Member& member) {
  const fleet::PortView& port = *member.port;
  if (!port.rail || !IsRoce(port) || !IsUp(port)) return {};
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr ? std::optional(Value{gid->index()}) : std::nullopt;
}

std::string Source(const Member& member) {
  return PortFile(*member.port, "gids");
}

std::vector<v1::Remedy> Remedies(const Member& member, const Value&) {
  const std::string& netdev = member.port->port->netdev();
  return {ToRemedy({.command = "unset NCCL_IB_GID_INDEX",
                    .note = "NCCL 2.21 and later find the index by themselves, by address family "
                            "and RoCE version."}),
          ToRemedy({.command = Format("ip address flush dev {0} && ip link set dev {0} down && "
                                      "ip link set dev {0} up",
                                      netdev),
                    .interrupts_traffic = true,
                    .note = "Then set the address again: the table fills anew, in order."})};
}

constexpr EqualityRule kEqualityRules[] = {{.what = "index of the routable RoCE v2 GID",
                                            .group = ByRailAndModel,
                                            .value = Index,
                                            .source = Source,
                                            .remedies = Remedies}};

}  // namespace

extern const Rule gid_index_equal_on_rail = {
    .id = "gid_index_equal_on_rail",
    .title = "Ports of one model on a rail have their routable RoCE v2 GID at the same index",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs that set NCCL_IB_GID_INDEX give one index to all nodes. Where another GID is there, "
        "a link-local or RoCE v1 one, connections fail with 'retry exceeded' or do not come up. "
        "Indexes move when addresses are added in another order, as after a link that flapped.",
    .source = "kernel drivers/infiniband/core/cache.c; NCCL, NCCL_IB_GID_INDEX",
    .needs = {Input::kGids},
    .fix = "Leave NCCL_IB_GID_INDEX unset; or take old addresses away",
    .equality_rules = kEqualityRules,
};

}  // namespace fabric::rules
