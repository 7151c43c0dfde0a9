#include "agents/inspect/report/report.h"

#include <vector>

#include "agents/inspect/report/field_table.h"
#include "agents/inspect/report/report_table.h"
#include "base/text.h"
#include "proto/names.h"
#include "proto/ports.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

std::string NodeText(const v1::NodeSnapshot& snapshot) {
  const v1::NodeIdentity& node = snapshot.node();
  Section section("Node", {"NAME", OrAbsent(node.name())});
  section.Row({"KERNEL", OrAbsent(node.kernel_release())});
  section.Row({"MACHINE ID", OrAbsent(node.machine_id())});
  section.Row({"BOOT ID", OrAbsent(node.boot_id())});
  section.Row({"AGENT", OrAbsent(node.agent_version())});
  section.Row({"TAKEN AT", ToString(snapshot.taken_at())});
  section.Row({"FROM", snapshot.captured() ? "a captured tree" : "the live machine"});
  for (auto& row : FieldRows(node)) section.Row(std::move(row));
  return section.Text("");
}

std::string DevicesText(const v1::NodeSnapshot& snapshot) {
  return FieldTable("RDMA devices", *v1::RdmaDevice::descriptor(),
                    ElementsOf(snapshot.rdma_devices()))
      .Text(NoneOrUnknown(snapshot, {kRdmaClass}, "none"));
}

// Every device has ports.
std::string NoPorts(const v1::NodeSnapshot& snapshot) {
  return NoneOrUnknown(snapshot, {kRdmaClass},
                       snapshot.rdma_devices().empty() ? "none" : "unknown: no port was read");
}

std::string NoGids(const v1::NodeSnapshot& snapshot) {
  for (const v1::Gap& gap : snapshot.gaps())
    if (gap.inspector() == "gids") return Format("unknown: {}: {}", gap.path(), gap.reason());
  return NoPorts(snapshot);
}

std::string PortsText(const v1::NodeSnapshot& snapshot) {
  Section section("RDMA ports",
                  {"PORT", "STATE", "PHYSICAL", "LINK", "RATE", "LANES", "LID", "SM LID",
                   "RDMA MTU", "MAX", "NETDEV", "OPER", "NETDEV MTU", "SPEED"});
  const v1::NetInterface none;
  Elements ports;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      const v1::NetInterface* const found = FindNetdev(snapshot, port.netdev());
      const v1::NetInterface& netdev = found == nullptr ? none : *found;
      const bool infiniband = port.link_layer() != v1::LINK_LAYER_ETHERNET;
      section.Row(
          {PortName(device, port), NameIf(port.has_state(), port.state()),
           NameIf(port.has_physical_state(), port.physical_state()),
           NameIf(port.has_link_layer(), port.link_layer()),
           RateIf(port.has_rate_bps(), port.rate_bps()),
           port.has_width() ? Format("{}X {}", port.width(), port.speed()) : std::string(kAbsent),
           NumberIf(port.has_lid() && infiniband, port.lid()),
           NumberIf(port.has_sm_lid() && infiniband, port.sm_lid()),
           NumberIf(port.has_active_mtu_bytes(), port.active_mtu_bytes()),
           NumberIf(port.has_max_mtu_bytes(), port.max_mtu_bytes()), OrAbsent(port.netdev()),
           NameIf(netdev.has_oper_state(), netdev.oper_state()),
           NumberIf(netdev.has_mtu_bytes(), netdev.mtu_bytes()),
           RateIf(netdev.has_speed_bps(), netdev.speed_bps())});
      ports.push_back(&port);
    }
  }
  AddColumns(ports, section);
  return section.Text(NoPorts(snapshot));
}

std::string GidsText(const v1::NodeSnapshot& snapshot) {
  Section section("GIDs", {"PORT", "INDEX", "GID", "IPV4", "TYPE", "NETDEV"});
  Elements gids;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      for (const v1::Gid& gid : port.gids()) {
        section.Row({PortName(device, port), Format("{}", gid.index()), gid.gid(),
                     OrAbsent(gid.ipv4()), NameIf(gid.has_type(), gid.type()),
                     OrAbsent(gid.netdev())});
        gids.push_back(&gid);
      }
    }
  }
  AddColumns(gids, section);
  return section.Text(NoGids(snapshot));
}

std::string NetdevsText(const v1::NodeSnapshot& snapshot) {
  return FieldTable("Netdevs", *v1::NetInterface::descriptor(),
                    ElementsOf(snapshot.net_interfaces()))
      .Text(NoneOrUnknown(snapshot, {kNetClass}, "none"));
}

std::string GapsText(const v1::NodeSnapshot& snapshot) {
  return FieldTable("Gaps", *v1::Gap::descriptor(), ElementsOf(snapshot.gaps()))
      .Text("none: everything was read");
}

}  // namespace

std::string Report(const v1::NodeSnapshot& snapshot) {
  std::string text = NodeText(snapshot) + JobText(snapshot) + DevicesText(snapshot) +
                     FunctionsText(snapshot) + PortsText(snapshot) + LosslessText(snapshot) +
                     GidsText(snapshot) + NetdevsText(snapshot) + StacksText(snapshot) +
                     PciText(snapshot) + HostText(snapshot) + LldpText(snapshot) +
                     KernelLogText(snapshot) + ProcessesText(snapshot) + FurtherSections(snapshot) +
                     GapsText(snapshot);
  text.pop_back();  // The blank line after the last section.
  return text;
}

}  // namespace fabric::inspect
