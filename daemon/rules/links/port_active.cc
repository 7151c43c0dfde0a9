#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

bool HasLink(const v1::Port& port) {
  return port.physical_state() == v1::PHYSICAL_STATE_LINK_UP;
}

bool IsActive(const v1::Port& port) {
  if (port.state() != v1::PORT_STATE_ACTIVE) return false;
  // Some drivers never say what the physical state is.
  return port.physical_state() == v1::PHYSICAL_STATE_UNSPECIFIED || HasLink(port);
}

// Somebody wants to use the port: it has a link, or somebody gave its netdev an address.
bool LooksUsed(const PortView& port) {
  const auto is_routable = [](const std::string& address) { return !address.starts_with("fe80"); };
  return HasLink(*port.port) ||
         (port.netdev != nullptr && std::any_of(port.netdev->addresses().begin(),
                                                port.netdev->addresses().end(), is_routable));
}

std::vector<v1::Remedy> Remedies(const PortView& port) {
  if (port.port->link_layer() == v1::LINK_LAYER_INFINIBAND && HasLink(*port.port))
    return {
        ToRemedy({.command = "sminfo",
                  .note = "A link without ACTIVE waits for the subnet manager: is one running?"})};
  if (port.port->netdev().empty())
    return {ToRemedy(
        {.command = Format("rdma link show {}/{}", port.device->name(), port.port->number()),
         .note = "Then look at the cable and the switch port."})};
  const std::string& netdev = port.port->netdev();
  return {ToRemedy({.command = Format("ip link set dev {} up", netdev),
                    .note = "When it was taken down by hand."}),
          ToRemedy({.command = Format("ethtool {}", netdev),
                    .note = "'Link detected: no' while it is up: cable, module or switch port."})};
}

// What the state says of the cause, on InfiniBand.
std::string_view Cause(const v1::Port& port) {
  if (port.link_layer() != v1::LINK_LAYER_INFINIBAND) return {};
  if (port.physical_state() == v1::PHYSICAL_STATE_LINK_ERROR_RECOVERY)
    return ": the link has errors and trains again and again";
  if (port.physical_state() == v1::PHYSICAL_STATE_POLLING) return ": nobody answers on the cable";
  if (port.physical_state() == v1::PHYSICAL_STATE_DISABLED) return ": somebody disabled it";
  if (port.state() == v1::PORT_STATE_INIT) return ": no subnet manager has configured it";
  if (port.state() == v1::PORT_STATE_ARMED) return ": the subnet manager has not activated it";
  return {};
}

void Fail(const PortView& port, std::string basis, Verdicts& out) {
  const v1::Port& seen = *port.port;
  const std::string title = Format("port is {} ({}), expected ACTIVE (LinkUp){}",
                                   Name(seen.state()), Name(seen.physical_state()), Cause(seen));
  std::vector<v1::Evidence> evidence = {
      ToEvidence(*port.node, {.what = "port state",
                              .expected = "ACTIVE",
                              .seen = std::string(Name(seen.state())),
                              .source = PortFile(port, "state"),
                              .basis = basis}),
      ToEvidence(*port.node, {.what = "physical state",
                              .expected = "LinkUp",
                              .seen = std::string(Name(seen.physical_state())),
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

// Ports that are used alike: what another kind of card on the same rail does tells nothing.
std::optional<Group> ByKind(const Member& member) {
  const PortView& port = *member.port;
  if (!port.rail) return {};
  return Group{.rail = port.rail->value(),
               .like = port.device->model(),
               .part = KindOf(port) ^ static_cast<std::uint64_t>(port.port->link_layer())};
}

bool IsLike(const PortView& a, const PortView& b) {
  return a.rail && b.rail && a.device->model() == b.device->model() &&
         a.device->board_id() == b.device->board_id() &&
         a.port->link_layer() == b.port->link_layer() && a.port->number() == b.port->number();
}

// GPUs have a card each, or several: one whose equals beside GPUs are ACTIVE is one of these. A
// guest does not see how near they are: there the numbers have to agree. Nothing: cannot be told.
std::optional<std::string> NeededByGpus(const fleet::NodeView& node, const PortView& port) {
  const v1::NodeSnapshot& snapshot = node.node->snapshot;
  const auto gpus = static_cast<std::size_t>(snapshot.gpus_size());
  const bool by_distance = std::any_of(node.ports.begin(), node.ports.end(), IsNearGpu);
  if (gpus == 0 || (by_distance && !IsNearGpu(port))) return {};
  std::size_t all = 0;
  std::size_t active = 0;
  for (const PortView& other : node.ports) {
    if (!IsLike(port, other) || (by_distance && !IsNearGpu(other))) continue;
    ++all;
    active += IsActive(*other.port) ? 1 : 0;
  }
  if (active < 3 || 4 * active < 3 * all || (!by_distance && all % gpus != 0)) return {};
  return Format("{} of {} ports like it beside the GPUs of this node are ACTIVE", active, all);
}

// The first port of an InfiniBand card in a node that has no other network of RDMA either.
bool IsOnlyHope(const fleet::NodeView& node, const PortView& port) {
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

GroupSummary HowMany(const ValueCounts& counts) {
  std::uint64_t active = 0;
  for (const ValueCounts::Entry& entry : counts.values)
    if (entry.value.number != 0) active = entry.members;
  return {.facts = {active > 0 ? 1U : 0U}, .shown = {{.count = active, .of = counts.members}}};
}

void Judge(const Member& member, const GroupSummary& kind, Verdicts& out) {
  const PortView& port = *member.port;
  if (IsActive(*port.port)) {
    out.Pass();
  } else if (!port.port->has_state()) {
    Unreadable(port, "port state", PortFile(port, "state"), out);
  } else if (kind.facts[0] != 0) {
    Fail(port, Format("{} ports of rail {} are ACTIVE", ToText(kind.shown[0]), port.rail->value()),
         out);
  } else if (LooksUsed(port)) {
    Fail(port, HasLink(*port.port) ? "it has a link" : "its netdev has an address", out);
  } else if (auto basis = NeededByGpus(*member.node, port)) {
    Fail(port, *std::move(basis), out);
  } else if (IsOnlyHope(*member.node, port)) {
    Fail(port, "the node has no other port that is ACTIVE", out);
  }
  // Else: nobody uses this index anywhere, such as the second ports of two-port cards.
}

constexpr GroupRule kGroupRule = {
    .group = ByKind, .value = Active, .summarize = HowMany, .judge = Judge};

}  // namespace

extern const Rule port_active = {
    .id = "port_active",
    .title = "Every RDMA port that is in use is ACTIVE with its link up",
    .severity = v1::SEVERITY_CRITICAL,
    .scope = v1::SCOPE_PORT,
    .why =
        "The bandwidth of the port is missing. NCCL passes over inactive ports without a word, "
        "and jobs run at a fraction of their speed. A port counts as in use when a port "
        "like it (in a machine alike, of one model and link layer) on its rail is ACTIVE, when it "
        "has a link, when its netdev has an address, when cards like it beside the GPUs of its "
        "node are ACTIVE, or when it is InfiniBand and the node has no ACTIVE port at all; a port "
        "for which none holds is not judged.",
    .source = "kernel ABI document sysfs-class-infiniband (state, phys_state)",
    .needs = {Input::kRdmaPorts},
    .fix = "ip link set dev NETDEV up; else cable, module, switch port, or subnet manager",
    .group_rule = &kGroupRule,
};

}  // namespace fabric::rules
