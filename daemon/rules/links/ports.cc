#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/remedies.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// port_active

// A port leaves DOWN only with a link. Some drivers and captures lack the physical state.
bool HasLink(const v1::Port& port) {
  if (port.physical_state() == v1::PHYSICAL_STATE_UNSPECIFIED)
    return port.state() > v1::PORT_STATE_DOWN;
  return port.physical_state() == v1::PHYSICAL_STATE_LINK_UP;
}

bool IsActive(const v1::Port& port) {
  return port.state() == v1::PORT_STATE_ACTIVE && HasLink(port);
}

// The port has a link, or an address. RoCE has a GID for each address of the netdev and of the
// VLANs above it.
bool LooksUsed(const PortView& port) {
  const auto is_routable = [](const std::string& address) { return !address.starts_with("fe80"); };
  return HasLink(*port.port) ||
         (IsHardware({.port = &port}) && port.port->link_layer() == v1::LINK_LAYER_ETHERNET &&
          fleet::UsableGid(*port.device, *port.port) != nullptr) ||
         (port.netdev != nullptr && std::any_of(port.netdev->addresses().begin(),
                                                port.netdev->addresses().end(), is_routable));
}

// The netdev is that of IPoIB, which does not affect the link.
std::vector<v1::Remedy> InfinibandRemedies(const PortView& port) {
  if (HasLink(*port.port))
    return {QuerySubnetManager(
        port, "A link that is not ACTIVE waits for the subnet manager. Check that one runs.")};
  const std::string name = Format("{} {}", port.device->name(), port.port->number());
  if (port.port->physical_state() == v1::PHYSICAL_STATE_DISABLED)
    return {Change(
        {.command = Format("ibportstate {} -D 0 {} enable", ThroughPort(port), port.port->number()),
         .affects = v1::REMEDY_REACH_PORT,
         .interrupts = kInterruptsNothing,
         .lasts = Permanently(),
         .undo = Format("ibportstate {} -D 0 {} disable", ThroughPort(port), port.port->number()),
         .note = "First find out why it was disabled."})};
  std::vector<v1::Remedy> remedies = {
      Query({.command = Format("ibstat {}", name),
             .note = "Polling: no signal from the other end. Check cable and module, and the port "
                     "of the switch (ibportstate from another node, or the switch's own "
                     "command line)."})};
  if (port.device->driver().starts_with("mlx5") && port.device->has_pci_address())
    remedies.push_back(Query({.platform = "mlx5",
                              .command = Format("mlxlink -d {} -p {} -m",
                                                port.device->pci_address(), port.port->number()),
                              .note = "Shows module, cable and the reason why the link is "
                                      "down."}));
  return remedies;
}

std::vector<v1::Remedy> Remedies(const PortView& port) {
  if (IsInfiniband(port)) return InfinibandRemedies(port);
  if (port.port->netdev().empty())
    return {
        Query({.command = Format("rdma link show {}/{}", port.device->name(), port.port->number()),
               .note = "Then check the cable and the switch port."})};
  const std::string& netdev = port.port->netdev();
  return {Change({.command = Format("ip link set dev {} up", netdev),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot(kInNetworkConfiguration),
                  .undo = Format("ip link set dev {} down", netdev),
                  .note = "If the netdev was set down manually."}),
          Query({.command = Format("ethtool {}", netdev),
                 .note = "If it shows 'Link detected: no' while the netdev is up, check cable, "
                         "module and switch port."})};
}

// The cause, as far as the state shows it. On InfiniBand only.
std::string_view Cause(const v1::Port& port) {
  if (port.link_layer() != v1::LINK_LAYER_INFINIBAND) return {};
  if (port.physical_state() == v1::PHYSICAL_STATE_LINK_ERROR_RECOVERY)
    return ": the link has errors and keeps retraining";
  if (port.physical_state() == v1::PHYSICAL_STATE_POLLING) return ": no link partner";
  if (port.physical_state() == v1::PHYSICAL_STATE_DISABLED) return ": disabled by an administrator";
  if (port.state() == v1::PORT_STATE_INIT) return ": no subnet manager has configured it";
  if (port.state() == v1::PORT_STATE_ARMED) return ": the subnet manager has not activated it";
  return {};
}

void Fail(const PortView& port, std::string basis, Verdicts& out) {
  const v1::Port& seen = *port.port;
  const std::string physical(seen.has_physical_state() ? Name(seen.physical_state())
                                                       : "physical state not reported");
  const std::string title = Format("port is {} ({}), expected ACTIVE (LinkUp){}",
                                   Name(seen.state()), physical, Cause(seen));
  std::vector<v1::Evidence> evidence = {
      ToEvidence(*port.node, {.what = "port state",
                              .expected = "ACTIVE",
                              .seen = std::string(Name(seen.state())),
                              .source = PortFile(port, "state"),
                              .basis = basis}),
      ToEvidence(*port.node, {.what = "physical state",
                              .expected = "LinkUp",
                              .seen = physical,
                              .source = PortFile(port, "phys_state"),
                              .basis = basis})};
  if (port.netdev != nullptr && port.netdev->has_carrier())
    evidence.push_back(ToEvidence(*port.node, {.what = "carrier of " + port.netdev->name(),
                                               .expected = "yes",
                                               .seen = port.netdev->carrier() ? "yes" : "no",
                                               .source = NetdevFile(port, "carrier"),
                                               .basis = basis}));
  out.Fail(port.Subject(), title, std::move(evidence), Remedies(port));
}

// Ports of one kind. Another kind of card on the same rail may be used differently.
std::optional<Group> ByKind(const Member& member) {
  const PortView& port = *member.port;
  if (!port.rail) return {};
  return Group{.rail = port.rail->value(),
               .like = port.model,
               .part = KindOf(port) ^ static_cast<std::uint64_t>(port.port->link_layer())};
}

bool IsSameKind(const PortView& a, const PortView& b) {
  return a.rail && b.rail && a.model == b.model && a.board == b.board &&
         a.port->link_layer() == b.port->link_layer() && a.port->number() == b.port->number();
}

// Each GPU has one or more cards. A port is one of these if the ports of its kind near GPUs are
// ACTIVE. A guest does not see the distances; there, the numbers of ports and GPUs have to match.
// Returns the basis, or nothing if this cannot be decided.
std::optional<std::string> NeededByGpus(const fleet::NodeView& node, const PortView& port) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto gpus = static_cast<std::size_t>(snapshot.gpus_size());
  const bool by_distance = std::any_of(node.ports.begin(), node.ports.end(), IsNearGpu);
  if (gpus == 0 || (by_distance && !IsNearGpu(port))) return {};
  std::size_t all = 0;
  std::size_t active = 0;
  for (const PortView& other : node.ports) {
    if (!IsSameKind(port, other) || (by_distance && !IsNearGpu(other))) continue;
    ++all;
    active += IsActive(*other.port) ? 1 : 0;
  }
  if (active < 3 || 4 * active < 3 * all || (!by_distance && all % gpus != 0)) return {};
  return Format("{} of {} ports of its kind near the GPUs of this node are ACTIVE", active, all);
}

// The profile's number of fabric ports, if the node has no more than that: all of them are in use.
std::optional<std::string> NeededByProfile(const fleet::NodeView& node, const PortView& port) {
  if (!port.rail || !node.expected().has_fabric_ports()) return {};
  const auto ports = static_cast<std::size_t>(
      std::count_if(node.ports.begin(), node.ports.end(),
                    [](const PortView& other) { return other.rail.has_value(); }));
  if (ports > node.expected().fabric_ports()) return {};
  return Format("{}: {} fabric ports", ProfileBasis(*node.expectation),
                node.expected().fabric_ports());
}

// The first port of an InfiniBand card in a node without any ACTIVE RDMA port.
bool IsOnlyNetwork(const fleet::NodeView& node, const PortView& port) {
  const std::string& address = port.device->pci_address();
  return port.rail && port.port->link_layer() == v1::LINK_LAYER_INFINIBAND &&
         port.port->number() == port.device->ports(0).number() &&
         port.device->function().kind() == v1::FUNCTION_KIND_PHYSICAL && address.ends_with(".0") &&
         std::none_of(node.ports.begin(), node.ports.end(),
                      [](const PortView& other) { return IsActive(*other.port); });
}

std::optional<Value> Active(const Member& member) {
  return Value{IsActive(*member.port->port) ? 1U : 0U};
}

GroupSummary CountActive(const ValueCounts& counts) {
  std::uint64_t active = 0;
  for (const ValueCounts::Entry& entry : counts.values)
    if (entry.value.number != 0) active = entry.members;
  return {.facts = {active > 0 ? 1U : 0U}, .shown = {{.count = active, .of = counts.members}}};
}

void JudgeState(const Member& member, const GroupSummary& kind, Verdicts& out) {
  const PortView& port = *member.port;
  if (IsActive(*port.port)) {
    out.Pass();
  } else if (IsInfiniband(port) && IsVirtualFunction(port) && !PhysicalFunctionOf(port).empty()) {
    return;  // vf_port_up
  } else if (!port.port->has_state()) {
    return;
  } else if (kind.facts[0] != 0) {
    Fail(port, Format("{} ports of rail {} are ACTIVE", ToText(kind.shown[0]), port.rail->value()),
         out);
  } else if (LooksUsed(port)) {
    Fail(port, HasLink(*port.port) ? "it has a link" : "it has an address", out);
  } else if (auto basis = NeededByGpus(*member.node, port)) {
    Fail(port, *std::move(basis), out);
  } else if (auto expected = NeededByProfile(*member.node, port)) {
    Fail(port, *std::move(expected), out);
  } else if (IsOnlyNetwork(*member.node, port)) {
    Fail(port, "the node has no ACTIVE port", out);
  }
  // Else the port is not in use on any node, such as the second ports of two-port cards.
}

constexpr GroupRule kActive = {
    .group = ByKind, .value = Active, .summarize = CountActive, .judge = JudgeState};

// rdma_port_has_netdev

void FailNetdev(const PortView& port, Verdicts& out) {
  const std::string& netdev = port.port->netdev();
  const std::string seen = netdev.empty() ? "none" : netdev + ", which is not in this namespace";
  out.Fail(port.Subject(), Format("netdev of the port: {}, expected one on this node", seen),
           {ToEvidence(*port.node, {.what = "netdev",
                                    .expected = "one",
                                    .seen = seen,
                                    .source = PortFile(port, "gid_attrs/ndevs"),
                                    .basis = "RDMA over Ethernet has one"})},
           {Query({.command = "ip netns list-id; rdma system show",
                   .note = "The netdev is in another network namespace, such as that of a "
                           "container. Move it back, or run the agent in that namespace."})});
}

// A captured tree may have the RDMA devices without the netdevs.
void JudgeNetdevs(const fleet::NodeView& node, Verdicts& out) {
  if (node.node->snapshot.captured()) return;
  for (const PortView& port : node.ports) {
    if (!port.rail || port.port->link_layer() != v1::LINK_LAYER_ETHERNET) continue;
    if (port.port->state() != v1::PORT_STATE_ACTIVE) continue;
    if (port.netdev == nullptr)
      FailNetdev(port, out);
    else
      out.Pass();
  }
}

}  // namespace

extern const Rule port_active = {
    .id = "port_active",
    .title = "Every RDMA port that is in use is ACTIVE with its link up",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "The bandwidth of the port is missing. NCCL skips inactive ports without a message, and "
        "jobs run at a fraction of their speed. A port is in use if it has a link, if its netdev "
        "has an address, if a port of the same kind (node, model and link layer) on its rail is "
        "ACTIVE, if such cards near the GPUs of its node are ACTIVE, if the node has no more "
        "fabric ports than the profile expects, or if it is InfiniBand and the node has no ACTIVE "
        "port. Other ports are not judged.",
    .source = "kernel ABI document sysfs-class-infiniband (state, phys_state)",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kFabricPortsFieldNumber},
    .reads = {{.field = Field::kPortState}},
    .fix = "ip link set dev NETDEV up; else cable, module, switch port, or subnet manager",
    .group_rule = &kActive,
};

extern const Rule rdma_port_has_netdev = {
    .id = "rdma_port_has_netdev",
    .title = "Every ACTIVE RDMA port over Ethernet has a netdev in the network namespace",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Addresses, MTU, priorities and speed belong to the netdev. If the netdev was moved into "
        "the network namespace of a container, the RDMA device looks usable on the host but is "
        "not: its GIDs do not belong to this namespace.",
    .source = "man pages rdma-system(8) and ip-netns(8)",
    .needs = {Input::kRdmaPorts, Input::kNetInterfaces},
    .fix = "Move the netdev back, or run the agent in its namespace",
    .evaluate_node = JudgeNetdevs,
};

}  // namespace fabric::rules
