#include "daemon/fleet/summaries.h"

#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::fleet {

v1::NodeSummary Summarize(const NodeRecord& node, std::uint32_t findings_open) {
  const v1::NodeSnapshot& snapshot = node.snapshot;
  v1::NodeSummary summary;
  summary.set_name(node.name);
  summary.set_state(node.state);
  *summary.mutable_state_since() = ToProto(node.state_since.wall);
  *summary.mutable_reported_at() = ToProto(node.reported_at.wall);
  summary.set_devices(static_cast<std::uint32_t>(snapshot.rdma_devices_size()));
  std::uint32_t active = 0;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    for (const v1::Port& port : device.ports()) {
      summary.set_ports(summary.ports() + 1);
      if (port.state() == v1::PORT_STATE_ACTIVE) ++active;
    }
  }
  if (node.state == v1::NODE_STATE_CONNECTED) summary.set_ports_active(active);
  summary.set_gpus(static_cast<std::uint32_t>(snapshot.gpus_size()));
  summary.set_findings_open(findings_open);
  summary.set_gaps(static_cast<std::uint32_t>(snapshot.gaps_size()));
  summary.set_kernel_release(snapshot.node().kernel_release());
  summary.set_agent_version(snapshot.node().agent_version());
  summary.set_lost_reason(node.lost_reason);
  summary.set_maintenance(node.maintenance);
  for (const auto& [bound, violation] : node.violations) {
    v1::BoundViolation& shown = *summary.add_bound_violations();
    shown.set_bound(std::string(bound->name));
    shown.set_limit(bound->limit);
    shown.set_seen(violation.seen);
    shown.set_count(violation.count);
    *shown.mutable_last_at() = ToProto(violation.last_at.wall);
  }
  return summary;
}

v1::DeviceSummary Summarize(const PortView& view) {
  const v1::RdmaDevice& device = *view.device;
  const v1::Port& port = *view.port;
  v1::DeviceSummary summary;
  summary.set_node(view.node->name);
  if (view.rail) {
    summary.set_rail(view.rail->value());
    summary.set_rail_source(std::string(RailSourceName(view.rail_source)));
  }
  summary.set_device(device.name());
  summary.set_port(port.number());
  summary.set_netdev(port.netdev());
  summary.set_protocol(device.protocol());
  summary.set_state(port.state());
  summary.set_physical_state(port.physical_state());
  if (port.has_rate_bps()) summary.set_rate_bps(port.rate_bps());
  if (port.has_active_mtu_bytes()) summary.set_active_mtu_bytes(port.active_mtu_bytes());
  if (view.netdev != nullptr && view.netdev->has_mtu_bytes())
    summary.set_netdev_mtu_bytes(view.netdev->mtu_bytes());
  if (const v1::DcbConfig* const dcb = view.Dcb()) {
    if (dcb->has_pfc()) summary.set_pfc_enabled_mask(dcb->pfc().enabled_mask());
    summary.set_trust(dcb->trust());
  }
  if (const v1::Gid* gid = UsableGid(device, port)) {
    summary.set_gid(gid->gid());
    summary.set_gid_index(gid->index());
  }
  summary.set_driver(device.driver());
  summary.set_firmware(device.firmware());
  summary.set_pci_address(device.pci_address());
  return summary;
}

}  // namespace fabric::fleet
