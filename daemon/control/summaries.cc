#include "daemon/control/summaries.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::size_t kNodeNameMax = 253;  // Of a host name, RFC 1035

using PortStates = std::map<std::pair<std::string, std::uint32_t>, v1::PortState>;

PortStates StatesOf(const v1::NodeSnapshot& snapshot) {
  PortStates states;
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      states[{device.name(), port.number()}] = port.state();
  return states;
}

bool IsNameLetter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '-' || letter == '.' || letter == '_';
}

}  // namespace

v1::NodeSummary Summarize(const fleet::NodeRecord& node, std::uint32_t findings_open) {
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

v1::DeviceSummary Summarize(const fleet::PortView& view) {
  const v1::RdmaDevice& device = *view.device;
  const v1::Port& port = *view.port;
  v1::DeviceSummary summary;
  summary.set_node(view.node->name);
  if (view.rail) {
    summary.set_rail(view.rail->value());
    summary.set_rail_source(std::string(fleet::RailSourceName(view.rail_source)));
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
  if (const v1::Gid* gid = fleet::UsableGid(device, port)) {
    summary.set_gid(gid->gid());
    summary.set_gid_index(gid->index());
  }
  summary.set_driver(device.driver());
  summary.set_firmware(device.firmware());
  summary.set_pci_address(device.pci_address());
  return summary;
}

std::vector<v1::PortEvent> PortChanges(const v1::NodeSnapshot& before,
                                       const v1::NodeSnapshot& after) {
  std::map<std::pair<std::string, std::uint32_t>, std::pair<v1::PortState, v1::PortState>> both;
  for (const auto& [port, state] : StatesOf(before)) both[port].first = state;
  for (const auto& [port, state] : StatesOf(after)) both[port].second = state;
  std::vector<v1::PortEvent> events;
  for (const auto& [port, states] : both) {
    if (states.first == states.second) continue;
    v1::PortEvent& event = events.emplace_back();
    event.set_node(after.node().name());
    event.set_device(port.first);
    event.set_port(port.second);
    event.set_before(states.first);
    event.set_after(states.second);
  }
  return events;
}

Status NoSuch(std::string_view what, const std::string& name,
              const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  return {Code::kNotFound, UnknownName(what, name, candidates)};
}

Status CheckNodeName(const std::string& name) {
  if (!name.empty() && name.size() <= kNodeNameMax &&
      std::all_of(name.begin(), name.end(), IsNameLetter))
    return {};
  return {Code::kInvalidArgument,
          Format("node name: expected 1 to {} letters, digits, '-', '.' and '_', saw {}",
                 kNodeNameMax, Quoted(name))};
}

}  // namespace fabric::control
