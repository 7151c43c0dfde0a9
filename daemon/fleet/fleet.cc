#include "daemon/fleet/fleet.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/port_order.h"
#include "proto/bounds.h"
#include "proto/snapshot_change.h"

namespace fabric::fleet {
namespace {

void Follow(const v1::CounterTable&, NodeRecord& record, Moment now) {
  record.rates.Start(record.snapshot, now.steady);
}

void Follow(const v1::CounterSample& sample, NodeRecord& record, Moment now) {
  // A lost counter changes the positions of others.
  if (!sample.lost().empty()) return record.rates.Start(record.snapshot, now.steady);
  for (const std::uint32_t index : sample.resets())
    if (const auto place = record.counters.PlaceOf(index))
      record.rates.Break(place->first, place->second);
}

// The bound that a snapshot exceeds after changes, each of which was within the bounds.
std::optional<Excess> GrownBeyond(const v1::NodeSnapshot& snapshot) {
  const auto devices = static_cast<std::uint64_t>(snapshot.rdma_devices_size());
  if (devices > Limit("NodeSnapshot.rdma_devices"))
    return Excess{.bound = &BoundOf("NodeSnapshot.rdma_devices"), .seen = devices};
  const auto netdevs = static_cast<std::uint64_t>(snapshot.net_interfaces_size());
  if (netdevs > Limit("NodeSnapshot.net_interfaces"))
    return Excess{.bound = &BoundOf("NodeSnapshot.net_interfaces"), .seen = netdevs};
  const std::uint64_t memory = snapshot.SpaceUsedLong();
  if (memory > 2 * Limit("agent_message_memory"))
    return Excess{.bound = &BoundOf("agent_message_memory"), .seen = memory};
  return std::nullopt;
}

}  // namespace

NodeRecord& Fleet::Add(const std::string& name, Moment now) {
  const auto [at, added] = nodes_.try_emplace(name);
  NodeRecord& record = at->second;
  if (!added) return record;
  record.name = name;
  record.state_since = now;
  return record;
}

void Fleet::Enter(NodeRecord& record, v1::NodeState state, Moment now) {
  if (record.state == state) return;
  record.state_since = now;
  record.state = state;
  Notify(record);
}

NodeRecord& Fleet::Put(v1::NodeSnapshot snapshot, Moment now) {
  const std::string name = snapshot.node().name();
  NodeRecord& record = Add(name, now);
  record.snapshot = std::move(snapshot);
  FindRails(record);
  (void)FindSwitches(record);
  record.version = ++versions_;
  record.counters.Reset();
  record.rates.Clear();
  record.reported_at = now;
  record.inspected_at = now;
  record.outdated = false;
  MarkConnected(name, now);
  Notify(record);
  return record;
}

// A switch stays known while its port has no link, and until another one is heard.
bool Fleet::FindSwitches(NodeRecord& record) const {
  std::vector<SwitchOfPort> switches;
  for (const OrderedPort& ordered : PortsInOrder(record.snapshot)) {
    SwitchOfPort found{.device = ordered.device->name(),
                       .port = ordered.port->number(),
                       .name = {},
                       .switch_port = {}};
    const v1::LldpNeighbor* const neighbor = LldpNeighborOf(record.snapshot, ordered.netdev);
    const Attachment* const attachment = neighbor != nullptr || infiniband_ == nullptr
                                             ? nullptr
                                             : infiniband_->Find(*ordered.device, *ordered.port);
    if (neighbor != nullptr) {
      found.name = SwitchNameOf(*neighbor);
      found.switch_port = SwitchPortOf(*neighbor);
    }
    if (attachment != nullptr) {
      found.name = infiniband_->switches()[attachment->leaf].name;
      found.switch_port = Format("{}", attachment->port);
    }
    if (found.name.empty())
      for (const SwitchOfPort& before : record.switches)
        if (before.port == found.port && before.device == found.device) found = before;
    if (!found.name.empty()) switches.push_back(std::move(found));
  }
  if (switches == record.switches) return false;
  record.switches = std::move(switches);
  return true;
}

void Fleet::UpdateSwitches(const std::string& node) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || !FindSwitches(at->second)) return;
  at->second.version = ++versions_;
  changed_.push_back(node);
}

void Fleet::FindRailsAgain() {
  for (auto& [name, record] : nodes_) {
    FindRails(record);
    record.version = ++versions_;
    changed_.push_back(name);
  }
}

void Fleet::SetMaintenance(const std::map<std::string, std::string>& reasons) {
  for (auto& [name, record] : nodes_) {
    const auto at = reasons.find(name);
    record.maintenance = at == reasons.end() ? std::string() : at->second;
  }
}

void Fleet::FindRails(NodeRecord& record) {
  AssignRailsOf(layouts_.Put(record));
}

void Fleet::AssignRailsOf(const std::vector<std::string>& nodes) {
  for (const std::string& other : nodes) {
    const auto at = nodes_.find(other);
    if (at == nodes_.end() || !layouts_.Assign(at->second)) continue;
    at->second.version = ++versions_;
    Notify(at->second);
    changed_.push_back(other);
  }
}

Status Fleet::Change(const std::string& node, v1::SnapshotChange change, Moment now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end())
    return {Code::kNotFound, Format("node {}: expected a complete snapshot before a change", node)};
  const bool inspected = change.has_taken_at();
  Apply(std::move(change), at->second.snapshot);
  if (const auto excess = GrownBeyond(at->second.snapshot)) return ToStatus(*excess);
  FindRails(at->second);
  (void)FindSwitches(at->second);
  at->second.version = ++versions_;
  at->second.reported_at = now;
  if (inspected) {
    at->second.inspected_at = now;
    at->second.outdated = false;
  }
  MarkConnected(node, now);
  Notify(at->second);
  return {};
}

template <class Message>
Status Fleet::TakeMessage(const std::string& node, const Message& message, Moment now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end())
    return {Code::kFailedPrecondition,
            Format("node {}: expected a complete snapshot before counters", node)};
  RETURN_IF_ERROR(at->second.counters.Take(message, at->second.snapshot));
  Follow(message, at->second, now);
  at->second.reported_at = now;
  at->second.counters_at = now.wall;
  MarkConnected(node, now);
  return {};
}

Status Fleet::TakeCounters(const std::string& node, const v1::CounterTable& table, Moment now) {
  return TakeMessage(node, table, now);
}
Status Fleet::TakeCounters(const std::string& node, const v1::CounterSample& sample, Moment now) {
  return TakeMessage(node, sample, now);
}

void Fleet::ForgetCounters(const std::string& node) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  at->second.counters.Reset();
  at->second.rates.Clear();
}

bool Fleet::AddViolation(const std::string& node, const Excess& excess, std::string reason,
                         Moment now) {
  const bool known = nodes_.contains(node);
  NodeRecord& record = Add(node, now);
  if (!known) {
    record.state = v1::NODE_STATE_LOST;
    record.lost_reason = std::move(reason);
    record.snapshot.mutable_node()->set_name(node);
    Notify(record);
  }
  const bool news = !record.over_budget || !record.violations.contains(excess.bound);
  BoundViolation& violation = record.violations[excess.bound];
  violation.seen = std::max(violation.seen, excess.seen);
  ++violation.count;
  violation.last_at = now;
  record.over_budget = true;
  if (news) record.version = ++versions_;
  return news;
}

bool Fleet::AddClaim(const std::string& node, std::string machine_id, Moment now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return false;
  const bool news = !at->second.claim;
  at->second.claim = {.machine_id = std::move(machine_id), .at = now};
  if (news) at->second.version = ++versions_;
  return news;
}

std::vector<std::string> Fleet::ForgetViolations(Duration age, Moment now) {
  std::vector<std::string> changed;
  for (auto& [name, node] : nodes_) {
    if (!node.over_budget && !node.claim) continue;
    const bool over =
        std::any_of(node.violations.begin(), node.violations.end(),
                    [&](const auto& one) { return now.steady - one.second.last_at.steady <= age; });
    const bool claimed = node.claim && now.steady - node.claim->at.steady <= age;
    if (over == node.over_budget && claimed == node.claim.has_value()) continue;
    node.over_budget = over;
    if (!claimed) node.claim.reset();
    node.version = ++versions_;
    changed.push_back(name);
  }
  return changed;
}

bool Fleet::AdvanceRates(const std::string& node, Moment now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || !at->second.rates.Advance(at->second.snapshot, now.steady))
    return false;
  history_.Take(node, at->second.snapshot, at->second.rates, now.wall);
  return true;
}

void Fleet::MarkConnected(const std::string& node, Moment now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  Enter(at->second, v1::NODE_STATE_CONNECTED, now);
  at->second.lost_reason.clear();
}

void Fleet::MarkLost(const std::string& node, std::string reason, Moment now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end() || at->second.state == v1::NODE_STATE_LOST) return;
  Enter(at->second, v1::NODE_STATE_LOST, now);
  at->second.lost_reason = std::move(reason);
}

std::vector<std::string> Fleet::FindOutdated(Duration age_max, Moment now) {
  std::vector<std::string> found;
  for (auto& [name, node] : nodes_) {
    if (!node.known() || now.steady - node.inspected_at.steady <= age_max) continue;
    node.outdated = true;
    found.push_back(name);
  }
  return found;
}

void Fleet::Restore(NodeRecord record, const v1::NodeMemory& memory) {
  record.state = v1::NODE_STATE_LOST;
  const std::string name = record.name;
  RailPlaces past;
  for (const v1::NodeMemory::RailPlace& rail : memory.rails())
    past.push_back({.place = rail.place(), .slot = rail.slot(), .network = rail.network()});
  layouts_.Remember(name, std::move(past));
  for (const v1::NodeMemory::PortSwitch& each : memory.switches())
    record.switches.push_back({.device = each.device(),
                               .port = each.port(),
                               .name = each.name(),
                               .switch_port = each.switch_port()});
  NodeRecord& restored = nodes_.insert_or_assign(name, std::move(record)).first->second;
  FindRails(restored);
  (void)FindSwitches(restored);
  Notify(restored);
}

v1::NodeMemory Fleet::MemoryOf(const NodeRecord& record) const {
  v1::NodeMemory memory;
  for (const RailPlace& rail : layouts_.PastOf(record.name)) {
    v1::NodeMemory::RailPlace& kept = *memory.add_rails();
    kept.set_place(rail.place);
    kept.set_slot(rail.slot);
    kept.set_network(rail.network);
  }
  for (const SwitchOfPort& each : record.switches) {
    v1::NodeMemory::PortSwitch& kept = *memory.add_switches();
    kept.set_device(each.device);
    kept.set_port(each.port);
    kept.set_name(each.name);
    kept.set_switch_port(each.switch_port);
  }
  return memory;
}

void Fleet::Remove(const std::string& node) {
  history_.Forget(node);
  if (nodes_.erase(node) > 0 && listener_) listener_(node, nullptr);
  AssignRailsOf(layouts_.Remove(node));
}

const NodeRecord* Fleet::Find(const std::string& node) const {
  const auto at = nodes_.find(node);
  return at == nodes_.end() ? nullptr : &at->second;
}

}  // namespace fabric::fleet
