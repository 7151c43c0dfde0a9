#include <algorithm>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/infiniband/infiniband.h"
#include "daemon/rules/kind.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {
namespace {

using fleet::PortView;

// ib_mtu_full

std::optional<Value> ActiveMtu(const Member& member) {
  const PortView& port = *member.port;
  if (!IsActiveInfiniband(port) || !port.port->has_active_mtu_bytes()) return {};
  return Value{port.port->active_mtu_bytes()};
}

void JudgeMtu(const Member& member, const GroupSummary& rail, Verdicts& out) {
  const PortView& port = *member.port;
  const v1::Expectations& expected = port.expected();
  // An MTU that differs from the others is a finding of mtu_equal_on_rail.
  if (Deviates(rail, port.port->active_mtu_bytes())) return;
  if (!port.port->has_max_mtu_bytes() && !expected.has_ib_mtu_bytes()) return;
  std::uint32_t wanted = std::min(4096U, port.port->max_mtu_bytes());
  if (expected.has_ib_mtu_bytes()) wanted = expected.ib_mtu_bytes();
  const std::uint32_t seen = port.port->active_mtu_bytes();
  if (seen >= wanted) return out.Pass();
  const std::string basis =
      expected.has_ib_mtu_bytes() ? ProfileBasis(*port.expectation) : "maximum of the port";
  out.Fail(port.Subject(),
           Format("active InfiniBand MTU {}, expected {} ({})", seen, wanted, basis),
           {ToEvidence(*port.node, {.what = "active RDMA MTU",
                                    .expected = Format("{}", wanted),
                                    .seen = Format("{}", seen),
                                    .source = VerbsSource(port),
                                    .basis = basis})},
           {QueryPortInfo(port,
                          "The subnet manager sets NeighborMTU from the MtuCap of both ends. Check "
                          "for a switch with a smaller MtuCap, and for a limit in the subnet "
                          "manager's configuration.")});
}

constexpr GroupRule kMtu = {.value = ActiveMtu, .summarize = MajorityOf, .judge = JudgeMtu};

// ib_width_full

// Two of four lanes are common: a splitter cable. One lane is a fault.
void JudgeWidth(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsActiveInfiniband(port) || !port.port->has_width()) continue;
    if (port.expected().has_width()) continue;  // link_rate_expected judges it.
    if (port.port->width() != 1) {
      out.Pass();
      continue;
    }
    out.Fail(port.Subject(), Format("link runs on 1 lane ({}), expected 4", port.port->speed()),
             {ToEvidence(*port.node, {.what = "lanes",
                                      .expected = "4",
                                      .seen = "1",
                                      .source = PortFile(port, "rate"),
                                      .basis = "rule"})},
             {ResetLink(port,
                        "The link retrains. If it comes up with one lane again, reseat, clean or "
                        "replace cable and module.")});
  }
}

// vf_port_up

// The port of the physical function of a virtual function.
const PortView* ParentOf(const PortView& port, std::string_view physical,
                         const fleet::NodeView& node) {
  for (const PortView& other : node.ports)
    if (other.device->pci_address() == physical && other.port->number() == port.port->number())
      return &other;
  return nullptr;
}

std::vector<v1::Remedy> VirtualFunctionRemedies(const PortView& port, const PortView& parent) {
  const std::string& netdev = parent.port->netdev();
  const auto index = VirtualFunctionIndex(port);
  v1::Remedy guids = Advice(
      "Without GUIDs the port never comes up: give the virtual function a node and a port "
      "GUID that are unique in the fabric (ip link show lists them), then bind its driver "
      "again. The subnet manager must allow virtual ports (opensm: virt_enabled 2).");
  if (netdev.empty()) return {guids};
  if (!index)
    return {Query({.command = Format("ip link show dev {}", netdev),
                   .note = Format("Lists the virtual functions with their state. Set that of {} "
                                  "to 'auto': the port then follows the physical function.",
                                  port.device->pci_address())}),
            guids};
  return {Change({.command = Format("ip link set dev {} vf {} state auto", netdev, *index),
                  .affects = v1::REMEDY_REACH_PORT,
                  .interrupts = kInterruptsNothing,
                  .lasts = UntilReboot("set it where the virtual functions are created"),
                  .undo = Format("ip link set dev {} vf {} state disable", netdev, *index),
                  .note = "The port then follows the port of the physical function."}),
          guids};
}

void FailVirtualFunction(const PortView& port, const PortView& parent, Verdicts& out) {
  out.Fail(port.Subject(),
           Format("port of a virtual function is DOWN, expected ACTIVE as {}", PortName(parent)),
           {ToEvidence(*port.node, {.what = "port state",
                                    .expected = "ACTIVE",
                                    .seen = "DOWN",
                                    .source = PortFile(port, "state"),
                                    .basis = "its physical function is ACTIVE"})},
           VirtualFunctionRemedies(port, parent));
}

void JudgeVirtualFunction(const fleet::NodeView& node, const PortView& port, Verdicts& out) {
  const std::string_view physical = PhysicalFunctionOf(port);
  if (port.function != nullptr && physical.empty()) return;  // In a guest: port_active
  if (!port.port->has_state()) return Unreadable(port, "port state", PortFile(port, "state"), out);
  if (port.port->state() != v1::PORT_STATE_DOWN) return out.Pass();
  if (port.function == nullptr)
    return Unreadable(port, "PCI function", PciFile(port.device->pci_address(), "physfn"), out);
  const PortView* const parent = ParentOf(port, physical, node);
  if (parent == nullptr || !parent->port->has_state())
    return Unreadable(port, "port state of its physical function", PciFile(physical, "infiniband"),
                      out);
  // A parent that is down is judged by port_active.
  if (parent->port->state() == v1::PORT_STATE_ACTIVE) FailVirtualFunction(port, *parent, out);
}

void JudgeVirtualFunctions(const fleet::NodeView& node, Verdicts& out) {
  for (const PortView& port : node.ports) {
    if (!IsInfiniband(port) || !IsVirtualFunction(port)) continue;
    // Not assigned to a guest or container
    if (port.device->has_node_guid() && IsZeroGuid(port.device->node_guid())) continue;
    JudgeVirtualFunction(node, port, out);
  }
}

}  // namespace

extern const Rule ib_mtu_full = {
    .id = "ib_mtu_full",
    .title = "The active MTU of an InfiniBand port is 4096, or that of the profile",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "Smaller packets mean more packets and headers for the same data, which costs bandwidth "
        "on fast links. Every InfiniBand device of the last ten years supports 4096 bytes. A "
        "smaller MTU comes from an old switch or from the configuration of the subnet manager.",
    .source = "InfiniBand specification, PortInfo:NeighborMTU",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kIbMtuBytesFieldNumber},
    .reads = {{.field = Field::kActiveMtu,
               .applies = IsInfinibandInUse,
               .profile = v1::Expectations::kIbMtuBytesFieldNumber},
              {.field = Field::kActiveMtu, .applies = IsInfinibandLive},
              {.field = Field::kMaxMtu, .applies = IsInfinibandLive}},
    .fix = "smpquery -C DEVICE -P PORT -D portinfo 0 PORT, and the subnet manager's configuration",
    .group_rule = &kMtu,
};

extern const Rule ib_width_full = {
    .id = "ib_width_full",
    .title = "No InfiniBand link runs on a single lane",
    .severity = v1::SEVERITY_ERROR,
    .scope = v1::SCOPE_PORT,
    .why =
        "A link on which not all lanes train comes up with fewer lanes, at a quarter of the "
        "speed, without an error message. Usual causes: dirty or damaged cables and modules.",
    .source =
        "InfiniBand specification, PortInfo:LinkWidthActive; kernel ABI document "
        "sysfs-class-infiniband (rate)",
    .needs = {Input::kRdmaPorts},
    .profile = {v1::Expectations::kWidthFieldNumber},
    .reads = {{.field = Field::kWidth, .applies = IsInfinibandInUse}},
    .fix = "ibportstate -C DEVICE -P PORT -D 0 PORT reset; then cable and module",
    .evaluate_node = JudgeWidth,
};

extern const Rule vf_port_up = {
    .id = "vf_port_up",
    .title = "The port of an InfiniBand virtual function is up if its physical port is ACTIVE",
    .severity = v1::SEVERITY_WARNING,
    .scope = v1::SCOPE_PORT,
    .why =
        "A virtual function without a link state or GUIDs stays down. The container or virtual "
        "machine that uses it has no RDMA, although host and cable work.",
    .source = "kernel drivers/infiniband/hw/mlx5/ib_virt.c; man page ip-link(8)",
    .needs = {Input::kRdmaPorts, Input::kPciFunctions},
    .fix = "ip link set dev PF vf N state auto; node_guid and port_guid likewise",
    .evaluate_node = JudgeVirtualFunctions,
};

}  // namespace fabric::rules
