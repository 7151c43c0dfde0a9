#include "daemon/control/live_numbers.h"

#include <utility>

#include "daemon/fleet/port_order.h"
#include "proto/affected.h"

namespace fabric::control {
namespace {

// Adds 1 or -1. Keys with 0 stay: rules without findings are listed.
template <class Key>
void Change(std::map<Key, std::uint64_t>& counts, const Key& key, int change) {
  counts[key] += static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
}

// Likewise, but keys with 0 go.
template <class Key>
void Move(std::map<Key, std::uint64_t>& counts, const Key& key, int change) {
  Change(counts, key, change);
  if (counts[key] == 0) counts.erase(key);
}

}  // namespace

bool CountsAsOpen(const v1::Finding& finding) {
  return finding.verdict() == v1::VERDICT_FAIL && finding.explained_by().empty();
}

std::vector<LiveNumbers::RailPort> LiveNumbers::RailPortsOf(const fleet::NodeRecord& record) {
  std::vector<fleet::OrderedPort> fabric = fleet::PortsInOrder(record.snapshot);
  std::erase_if(fabric, [](const fleet::OrderedPort& port) { return !port.fabric; });
  const bool in_record = record.rails.ports.size() == fabric.size();  // Else by order
  std::vector<RailPort> ports;
  for (std::uint32_t at = 0; at < fabric.size(); ++at) {
    const v1::Port& port = *fabric[at].port;
    RailPort& known = ports.emplace_back(RailPort{
        .rail = in_record ? record.rails.ports[at].rail.value() : at, .state = port.state()});
    if (port.state() != v1::PORT_STATE_ACTIVE) continue;
    known.rate_bps = port.rate_bps();
    known.mtu_bytes = port.active_mtu_bytes();
  }
  std::erase_if(ports, [](const RailPort& port) { return port.rail >= RailPorts::kRailsMax; });
  return ports;
}

void LiveNumbers::CountRails(const Node& node, int change) {
  for (const RailPort& port : node.rails) {
    RailPorts& rail = totals_.rails[port.rail];
    Move(rail.states, port.state, change);
    if (port.rate_bps > 0) Move(rail.rates_bps, port.rate_bps, change);
    if (port.mtu_bytes > 0) Move(rail.mtus_bytes, std::uint64_t{port.mtu_bytes}, change);
    if (rail.states.empty()) totals_.rails.erase(port.rail);
  }
}

void LiveNumbers::PutNode(const fleet::NodeRecord& record, const fleet::TopologyCoverage& cover) {
  std::map<v1::PortState, std::uint32_t> ports;
  const bool connected = record.state == v1::NODE_STATE_CONNECTED;
  if (connected)
    for (const v1::RdmaDevice& device : record.snapshot.rdma_devices())
      for (const v1::Port& port : device.ports()) ++ports[port.state()];
  std::vector<RailPort> rails;
  if (connected) rails = RailPortsOf(record);
  const MutexLock lock(mutex_);
  Node& node = nodes_[record.name];
  Subtract(node);
  node.known = true;
  node.connected = connected;
  node.ports = std::move(ports);
  node.rails = std::move(rails);
  node.cover = cover;
  for (const auto& [state, count] : node.ports) totals_.ports[state] += count;
  CountRails(node, 1);
  totals_.infiniband.placed += cover.placed;
  totals_.infiniband.unknown += cover.unknown;
  totals_.infiniband.lid_mismatches += cover.lid_mismatches;
}

void LiveNumbers::Subtract(Node& node) {
  for (const auto& [state, count] : node.ports) {
    const auto at = totals_.ports.find(state);
    at->second -= count;
    if (at->second == 0) totals_.ports.erase(at);
  }
  CountRails(node, -1);
  totals_.infiniband.placed -= node.cover.placed;
  totals_.infiniband.unknown -= node.cover.unknown;
  totals_.infiniband.lid_mismatches -= node.cover.lid_mismatches;
}

void LiveNumbers::RemoveNode(const std::string& name) {
  const MutexLock lock(mutex_);
  const auto at = nodes_.find(name);
  if (at == nodes_.end()) return;
  Subtract(at->second);
  at->second = {.findings = std::move(at->second.findings)};
  if (at->second.findings.empty()) nodes_.erase(at);
}

void LiveNumbers::CountFinding(const v1::Finding& finding, int change) {
  if (!CountsAsOpen(finding)) return;
  const MutexLock lock(mutex_);
  if (finding.has_silenced()) {
    Move(totals_.findings_silenced, finding.severity(), change);
    return;
  }
  Change(totals_.findings_open, {finding.rule(), finding.severity()}, change);
  for (const std::string& node : NodesOf(finding)) CountFor(node, finding, change);
}

void LiveNumbers::CountFor(const std::string& name, const v1::Finding& finding, int change) {
  const auto at = nodes_.try_emplace(name).first;
  FindingCounts& findings = at->second.findings;
  const FindingCounts::key_type key(finding.rule(), finding.severity());
  Move(findings, key, change);
  if (!at->second.known && findings.empty()) nodes_.erase(at);
}

void LiveNumbers::CountRefused(std::string_view reason) {
  const MutexLock lock(mutex_);
  ++totals_.refused[std::string(reason)];
}

void LiveNumbers::SetOthers(FleetNumbers others) {
  const MutexLock lock(mutex_);
  others.version = totals_.version;
  others.started_at_seconds = totals_.started_at_seconds;
  others.ports = std::move(totals_.ports);
  others.rails = std::move(totals_.rails);
  others.refused = std::move(totals_.refused);
  others.findings_open = std::move(totals_.findings_open);
  others.findings_silenced = std::move(totals_.findings_silenced);
  others.infiniband.placed = totals_.infiniband.placed;
  others.infiniband.unknown = totals_.infiniband.unknown;
  others.infiniband.lid_mismatches = totals_.infiniband.lid_mismatches;
  std::swap(totals_, others);
}

FleetNumbers LiveNumbers::Read() const {
  const MutexLock lock(mutex_);
  FleetNumbers numbers = totals_;
  for (const auto& [name, node] : nodes_)
    if (node.known)
      numbers.nodes.emplace_hint(
          numbers.nodes.end(), name,
          NodeNumbers{.connected = node.connected, .findings = node.findings});
  return numbers;
}

fleet::TopologyCoverage LiveNumbers::cover() const {
  const MutexLock lock(mutex_);
  return {.placed = totals_.infiniband.placed,
          .unknown = totals_.infiniband.unknown,
          .lid_mismatches = totals_.infiniband.lid_mismatches};
}

std::string LiveNumbers::store_failure() const {
  const MutexLock lock(mutex_);
  return totals_.store_failure;
}

}  // namespace fabric::control
