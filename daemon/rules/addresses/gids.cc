#include <algorithm>
#include <optional>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/links/links.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"
#include "proto/gaps.h"
#include "proto/ports.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool IsJudged(const PortView& port) {
  return port.rail && IsRoce(port) && IsUp(port);
}

// roce_v2_gid_present

void FailMissing(const PortView& port, Verdicts& out) {
  const auto v2 = [](const v1::Gid& gid) { return gid.type() == v1::GID_TYPE_ROCE_V2; };
  const auto& gids = port.port->gids();
  const std::string seen = std::any_of(gids.begin(), gids.end(), v2) ? "only link-local ones"
                           : gids.empty()                            ? "no GID at all"
                                                                     : "none";
  const std::string& netdev = port.port->netdev();
  out.Fail(port.Subject(), Format("RoCE v2 GIDs: {}, expected one with a routable address", seen),
           {ToEvidence(*port.node, {.what = "routable RoCE v2 GIDs",
                                    .expected = "at least 1",
                                    .seen = seen,
                                    .source = PortFile(port, "gids"),
                                    .basis = "rule"})},
           {AddAddress(netdev)});
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

// A port of a software bridge or switch, or of a bond in one, forwards for others. It needs no
// address. The interface of Open vSwitch is not always in the snapshot.
bool IsForwarding(const PortView& port) {
  if (port.netdev == nullptr || !port.netdev->has_master()) return false;
  const v1::NodeSnapshot& snapshot = port.node->snapshot;
  const v1::NetInterface* const master = FindNetdev(snapshot, port.netdev->master());
  return master == nullptr || !master->has_bond() || master->has_master();
}

bool HasVirtualFunctions(const PortView& port) {
  return port.function != nullptr && port.function->sriov_vfs() > 0;
}

// Guests and containers use the virtual functions of the port, and the port itself has no address,
// as none of the other ports with virtual functions has.
bool IsUsedThroughVirtualFunctions(const fleet::NodeView& node, const PortView& port) {
  return HasVirtualFunctions(port) &&
         std::none_of(node.ports.begin(), node.ports.end(), [](const PortView& other) {
           return IsJudged(other) && HasVirtualFunctions(other) &&
                  fleet::UsableGid(*other.device, *other.port) != nullptr;
         });
}

void JudgePresence(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsJudged(port) || IsOfRoceV1(*port.device)) continue;
    if (fleet::UsableGid(*port.device, *port.port) != nullptr)
      out.Pass();
    else if (const auto unread = UnreadPart(port))
      Unreadable(port, "GIDs", *unread, out);
    else if (!IsForwarding(port) && !IsUsedThroughVirtualFunctions(node, port))
      FailMissing(port, out);
  }
}

// gid_family_expected

bool IsOfFamily(const v1::Gid& gid, v1::AddressFamily family) {
  if (gid.type() != v1::GID_TYPE_ROCE_V2 || gid.link_local()) return false;
  return (family == v1::ADDRESS_FAMILY_IPV4) != gid.ipv4().empty();
}

void JudgeFamily(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    const v1::AddressFamily family = port.expected().gid_family();
    if (family == v1::ADDRESS_FAMILY_UNSPECIFIED || !IsJudged(port)) continue;
    // A port without any is a finding of roce_v2_gid_present.
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
    out.Fail(port.Subject(), Format("RoCE v2 GIDs: {} only, expected {} ({})", seen, wanted, basis),
             {ToEvidence(*port.node, {.what = "routable RoCE v2 GIDs",
                                      .expected = wanted,
                                      .seen = Format("{} at index {}", seen, usable->index()),
                                      .source = PortFile(port, "gids"),
                                      .basis = basis})},
             {AddAddress(port.port->netdev())});
  }
}

// roce_vlan_expected

// VLAN of a netdev of the node, 0 for one without; nothing if it is not known.
std::optional<std::uint32_t> VlanIdOf(const PortView& port, const std::string& netdev) {
  const v1::NetInterface* const found = FindNetdev(port.node->snapshot, netdev);
  if (found == nullptr) return {};
  return found->has_vlan() ? found->vlan().id() : 0;
}

// A port without any GID is a finding of roce_v2_gid_present.
void JudgeVlanOfGids(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!port.expected().has_vlan_id() || !IsJudged(port)) continue;
    const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
    if (gid == nullptr) continue;
    const std::string netdev = gid->netdev().empty() ? port.port->netdev() : gid->netdev();
    const auto vlan = VlanIdOf(port, netdev);
    if (!vlan || !gid->has_netdev()) {
      Unreadable(port, "VLAN of the RoCE address",
                 PortFile(port, Format("gid_attrs/ndevs/{}", gid->index())), out);
      continue;
    }
    const std::uint32_t wanted = port.expected().vlan_id();
    if (*vlan == wanted) {
      out.Pass();
      continue;
    }
    const std::string seen = *vlan == 0 ? "none" : Format("{}", *vlan);
    const std::string basis = ProfileBasis(*port.expectation);
    out.Fail(port.Subject(),
             Format("VLAN of the RoCE address {}, expected {} ({})", seen, wanted, basis),
             {ToEvidence(*port.node, {.what = "VLAN of the RoCE address on " + netdev,
                                      .expected = Format("{}", wanted),
                                      .seen = seen,
                                      .source = Format("netlink route {}", netdev),
                                      .basis = basis})},
             {Advice(Format("Move the RoCE address of {} to a netdev of VLAN {} in the network "
                            "configuration of the node, and allow the VLAN on the switch port. "
                            "Jobs on the node lose their connections: drain it first.",
                            netdev, wanted))});
  }
}

// gid_index_equal_on_rail

// A port without any is a finding of roce_v2_gid_present.
std::optional<Value> Index(const Member& member) {
  const PortView& port = *member.port;
  if (!IsJudged(port)) return {};
  const v1::Gid* const gid = fleet::UsableGid(*port.device, *port.port);
  return gid != nullptr ? std::optional(Value{gid->index()}) : std::nullopt;
}

// No command that refills the table: that removes all addresses of a port in use.
std::vector<v1::Remedy> ChooseByFamily(const Member& member, const Value&) {
  return {Change({.command = "unset NCCL_IB_GID_INDEX UCX_IB_GID_INDEX",
                  .affects = v1::REMEDY_REACH_JOB,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot("remove them from the job scripts and /etc/nccl.conf"),
                  .undo = "Export the former index",
                  .note = "In the environment of jobs. NCCL 2.21 and later choose the index by "
                          "address family and RoCE version."}),
          Advice(Format("The kernel fills the table of {} in the order in which addresses appear. "
                        "After the next planned reboot of the node the index is usually the same "
                        "as on the other nodes.",
                        member.port->device->name()))};
}

constexpr EqualityRule kIndex[] = {
    {.what = "index of the routable RoCE v2 GID",
     .group = ByRailAndModel,
     .value = Index,
     .source = [](const Member& member) { return PortFile(*member.port, "gids"); },
     .remedies = ChooseByFamily}};

// rdma_cm_roce_v2

// cma_roce_mode belongs to NVIDIA's tools. The file is the kernel's.
v1::Remedy SetConnectionManagerMode(const PortView& port) {
  const std::string file = Format("sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_mode",
                                  port.device->name(), port.port->number());
  return Change(
      {.command = Format("cd / && echo 'RoCE v2' > {}", file),
       .affects = v1::REMEDY_REACH_PORT,
       .interrupts = kInterruptsNothing,
       .lasts = UntilReboot(kInBootUnit),
       .undo = Format("cd / && echo '{}' > {}", port.port->roce_defaults().rdma_cm_mode(), file),
       .note = "Applies to new connections; existing ones keep their mode."});
}

// Known only if an administrator created the directory in configfs, usually to change the mode.
void JudgeConnectionManager(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    const v1::RoceDefaults& defaults = port.port->roce_defaults();
    if (!IsJudged(port) || !defaults.has_rdma_cm_mode()) continue;
    if (defaults.rdma_cm_mode() == "RoCE v2") {
      out.Pass();
      continue;
    }
    const std::string& device = port.device->name();
    out.Fail(port.Subject(), Format("RDMA-CM uses {}, expected RoCE v2", defaults.rdma_cm_mode()),
             {ToEvidence(*port.node, {.what = "default_roce_mode",
                                      .expected = "RoCE v2",
                                      .seen = defaults.rdma_cm_mode(),
                                      .source = Format("sys/kernel/config/rdma_cm/{}/ports/{}/"
                                                       "default_roce_mode",
                                                       device, port.port->number()),
                                      .basis = "the port has RoCE v2 GIDs"})},
             {SetConnectionManagerMode(port)});
  }
}

// iwarp_has_address

void JudgeIwarp(const fleet::NodeView& node, Verdicts& out) {
  for (const v1::Gap& gap : node.node->snapshot.gaps())
    if (Covers(gap, "netlink addresses")) return;
  for (const PortView& port : node.ports) {
    if (port.device->protocol() != v1::PROTOCOL_IWARP || !port.rail || !IsUp(port) ||
        port.expected().unused() || port.netdev == nullptr || node.node->snapshot.captured())
      continue;
    const auto& addresses = port.netdev->addresses();
    const bool any = std::any_of(addresses.begin(), addresses.end(),
                                 [](const auto& each) { return !each.starts_with("fe80:"); });
    if (any) {
      out.Pass();
      continue;
    }
    const std::string& netdev = port.netdev->name();
    out.Fail(port.Subject(),
             Format("iWARP netdev {} has no IP address, expected one: iWARP connects by address",
                    netdev),
             {ToEvidence(*port.node, {.what = "IP addresses of " + netdev,
                                      .expected = "at least one that is not link-local",
                                      .seen = addresses.empty() ? "none" : "only link-local ones",
                                      .source = "netlink addresses",
                                      .basis = "rule"})},
             {AddAddress(netdev)});
  }
}

bool IsIwarpInUse(const Member& member) {
  return member.port->device->protocol() == v1::PROTOCOL_IWARP && member.port->netdev != nullptr;
}

}  // namespace

extern const Rule gid_family_expected = {
    .id = "gid_family_expected",
    .title = "Every RoCE port has a RoCE v2 GID of the address family in the profile",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs choose GIDs of one address family. A port with only the other family is skipped, or "
        "used with a link-local GID that reaches no peer.",
    .source = "NCCL, NCCL_IB_ADDR_FAMILY; kernel drivers/infiniband/core/roce_gid_mgmt.c",
    .needs = {Input::kGids},
    .profile = {v1::Expectations::kGidFamilyFieldNumber},
    .fix = "ip address add ADDRESS/PREFIX dev NETDEV",
    .evaluate_node = JudgeFamily,
};

extern const Rule gid_index_equal_on_rail = {
    .id = "gid_index_equal_on_rail",
    .title = "Ports of one model on a rail have their routable RoCE v2 GID at the same index",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Jobs that set NCCL_IB_GID_INDEX use one index on all nodes. If another GID has that "
        "index, link-local or RoCE v1, connections fail with 'retry exceeded' or do not come up. "
        "Indexes change when addresses are added in another order, for example after a link flap.",
    .source = "kernel drivers/infiniband/core/cache.c; NCCL, NCCL_IB_GID_INDEX",
    .needs = {Input::kGids},
    .fix = "Leave NCCL_IB_GID_INDEX unset, or remove old addresses",
    .equality_rules = kIndex,
};

extern const Rule rdma_cm_roce_v2 = {
    .id = "rdma_cm_roce_v2",
    .title = "RDMA-CM is not set to RoCE v1",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "RoCE v1 does not run over IP: it ends at the first router and has neither DSCP nor ECN. "
        "Storage that connects by RDMA-CM loses its priority and cannot leave its segment, while "
        "jobs that choose a GID themselves work.",
    .source = "kernel Documentation/ABI/testing/configfs-rdma_cm (default_roce_mode)",
    .needs = {Input::kRoceDefaults},
    .reads = {{.field = Field::kRdmaCm, .applies = IsRoceInUse}},
    .fix = "Write 'RoCE v2' to default_roce_mode of the port below sys/kernel/config/rdma_cm",
    .evaluate_node = JudgeConnectionManager,
};

extern const Rule roce_vlan_expected = {
    .id = "roce_vlan_expected",
    .title = "The RoCE address of a port is on the VLAN of the profile",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "Ports in different VLANs do not reach each other, or only through a router that has no "
        "lossless queue. Without the VLAN tag the frames also have no PCP, and switches that "
        "trust it put them into the lossy queue.",
    .source = "IEEE 802.1Q; kernel drivers/infiniband/core/roce_gid_mgmt.c",
    .needs = {Input::kGids, Input::kNetInterfaces},
    .profile = {v1::Expectations::kVlanIdFieldNumber},
    .fix = "Give the netdev of the VLAN the RoCE address",
    .evaluate_node = JudgeVlanOfGids,
};

extern const Rule roce_v2_gid_present = {
    .id = "roce_v2_gid_present",
    .title = "Every RoCE port has a RoCE v2 GID with an address that is not link-local",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "Without it, the port has no address that other nodes can reach over routed RoCE v2. Jobs "
        "fail at connection set-up, or fall back to TCP without a message. The kernel makes a GID "
        "from each address of the netdev, so an IP address is missing.",
    .source = "kernel drivers/infiniband: RoCE GID management; RoCE v2 annex A17",
    .needs = {Input::kGids},
    .reads = {{.field = Field::kGids, .applies = IsRoceInUse}},
    .fix = "ip address add ADDRESS/PREFIX dev NETDEV",
    .evaluate_node = JudgePresence,
};

extern const Rule iwarp_has_address = {
    .id = "iwarp_has_address",
    .title = "The netdev of an iWARP port that is up has an IP address",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "iWARP runs over TCP and connects by RDMA-CM only. Without an address no connection can be "
        "made, while verbs tools show the port as ACTIVE.",
    .source = "RFC 5040, RFC 5044; kernel drivers/infiniband/core/iwcm.c",
    .needs = {Input::kNetInterfaces},
    .reads = {{.field = Field::kAddresses, .applies = IsIwarpInUse}},
    .fix = "Add an IP address to the netdev",
    .evaluate_node = JudgeIwarp,
};

}  // namespace fabric::rules
