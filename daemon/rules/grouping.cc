#include "daemon/rules/grouping.h"

#include <utility>

#include "daemon/rules/common_cause.h"
#include "daemon/rules/switches.h"

namespace fabric::rules {
namespace {

constexpr std::size_t kPortsMin = 2;  // Of a node
constexpr std::size_t kNodesMin = 3;  // Of anything larger
constexpr std::size_t kRailsMin = 2;  // On which nobody is blamed

std::string SwitchOf(const fleet::PortView& port) {
  const v1::LldpNeighbor* const neighbor = NeighborOf(port);
  return neighbor == nullptr ? std::string() : SwitchName(*neighbor);
}

}  // namespace

Grouping::Extents Grouping::ExtentsOf(const std::string& node, const Port& port) {
  Extents extents = {{.scope = v1::SCOPE_FLEET}};
  if (!port.switch_name.empty())
    extents.push_back({.scope = v1::SCOPE_SWITCH, .switch_name = port.switch_name});
  extents.push_back({.scope = v1::SCOPE_RAIL, .rail = port.rail});
  extents.push_back({.scope = v1::SCOPE_NODE, .node = node});
  return extents;
}

void Grouping::CountPorts(const std::string& node, const Ports& ports, bool come) {
  for (const Port& port : ports)
    for (Extent& extent : ExtentsOf(node, port)) {
      Count& count = extents_[extent];
      const std::size_t up = port.up ? 1 : 0;
      count.all = come ? count.all + 1 : count.all - 1;
      count.up = come ? count.up + up : count.up - up;
      if (count.all == 0) extents_.erase(extent);
      moved_.insert(std::move(extent));
    }
  moved_.insert({.scope = v1::SCOPE_FLEET});  // How many nodes there are
  moved_nodes_.insert(node);
}

void Grouping::Put(const fleet::NodeView& node) {
  Ports ports;
  for (const fleet::PortView& port : node.ports)
    if (port.rail)
      ports.push_back({.device = port.device->name(),
                       .number = port.port->number(),
                       .rail = port.rail->value(),
                       .switch_name = SwitchOf(port),
                       .up = port.port->state() == v1::PORT_STATE_ACTIVE});
  const std::string& name = node.node->name;
  const auto [known, added] = nodes_.try_emplace(name);
  if (!added && known->second == ports) return;
  CountPorts(name, known->second, false);
  CountPorts(name, ports, true);
  known->second = std::move(ports);
}

void Grouping::Remove(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  CountPorts(node, known->second, false);
  nodes_.erase(known);
}

Grouping::Seat Grouping::SeatOf(const v1::Finding& finding) const {
  const v1::Subject& subject = finding.subject();
  Seat seat{.node = subject.node(), .extents = {}};
  if (!IsOfPort(finding)) {
    seat.extents = {{.scope = v1::SCOPE_FLEET}};
    seat.up = true;
    return seat;
  }
  const auto node = nodes_.find(subject.node());
  if (node == nodes_.end()) return seat;
  for (const Port& port : node->second)
    if (port.device == subject.device() && port.number == subject.port()) {
      seat.extents = ExtentsOf(subject.node(), port);
      seat.up = port.up;
    }
  return seat;
}

bool Grouping::IsWhole(const Extent& extent, const Bucket& bucket) const {
  const auto concerned = bucket.counts.find(extent);
  if (concerned == bucket.counts.end()) return false;
  const Count& count = concerned->second;
  const v1::Finding& any = findings_.at(bucket.members.begin()->first);
  if (any.subject().scope() == v1::SCOPE_NODE)
    return count.all >= kNodesMin && count.all == nodes_.size();
  if (any.subject().scope() == v1::SCOPE_RAIL) {
    std::size_t rails = 0;
    for (auto at = extents_.lower_bound({.scope = v1::SCOPE_RAIL});
         at != extents_.end() && at->first.scope == v1::SCOPE_RAIL; ++at)
      ++rails;
    return count.all >= kRailsMin && count.all == rails;
  }
  const auto there = extents_.find(extent);
  if (there == extents_.end()) return false;
  const bool enough =
      extent.scope == v1::SCOPE_NODE ? count.all >= kPortsMin : count.nodes.size() >= kNodesMin;
  const bool all =
      there->second.up > 0 ? count.up == there->second.up : count.all == there->second.all;
  return enough && all;
}

void Grouping::Look(Buckets::value_type& each, const Extents& extents) {
  Bucket& bucket = each.second;
  for (const Extent& extent : extents) {
    const bool was = bucket.wholes.contains(extent);
    const bool is = IsWhole(extent, bucket);
    // One more or less of those that have a cause changes what it says.
    if (was || is) stale_.insert(each.first);
    if (is && !was) bucket.wholes.insert(extent);
    if (was && !is) bucket.wholes.erase(extent);
  }
}

void Grouping::Enter(const std::string& id) {
  const v1::Finding& finding = findings_.at(id);
  std::string alike = AlikeKey(finding);
  if (alike.empty()) return;
  Seat seat = SeatOf(finding);
  Buckets::value_type& bucket = *buckets_.try_emplace(alike).first;
  for (const Extent& extent : seat.extents) {
    Count& count = bucket.second.counts[extent];
    ++count.all;
    count.up += seat.up ? 1U : 0U;
    ++count.nodes[seat.node];
  }
  ids_on_[seat.node].insert(id);
  bucket_of_[id] = std::move(alike);
  const Extents extents = seat.extents;
  bucket.second.members.insert_or_assign(id, std::move(seat));
  Look(bucket, extents);
}

void Grouping::Leave(const std::string& id) {
  const auto of = bucket_of_.find(id);
  if (of == bucket_of_.end()) return;
  Buckets::value_type& each = *buckets_.find(of->second);
  Bucket& bucket = each.second;
  const auto member = bucket.members.find(id);
  const Seat seat = std::move(member->second);
  bucket.members.erase(member);
  if (bucket.members.empty()) stale_.insert(each.first);
  for (const Extent& extent : seat.extents) {
    Count& count = bucket.counts.at(extent);
    --count.all;
    count.up -= seat.up ? 1U : 0U;
    if (--count.nodes.at(seat.node) == 0) count.nodes.erase(seat.node);
    if (count.all == 0) bucket.counts.erase(extent);
  }
  const auto on = ids_on_.find(seat.node);
  on->second.erase(id);
  if (on->second.empty()) ids_on_.erase(on);
  bucket_of_.erase(of);
  Look(each, seat.extents);
}

// Ports of nodes have come, gone or changed: seats first, then what is whole now.
void Grouping::LookAtMoved() {
  for (const std::string& node : std::exchange(moved_nodes_, {})) {
    const auto on = ids_on_.find(node);
    if (on == ids_on_.end()) continue;
    for (const std::string& id : std::set<std::string>(on->second)) {
      Leave(id);
      Enter(id);
    }
  }
  const std::set<Extent> moved = std::exchange(moved_, {});
  const Extents extents(moved.begin(), moved.end());
  if (extents.empty()) return;
  for (Buckets::value_type& bucket : buckets_) Look(bucket, extents);
}

void Grouping::Explain(const std::string& id, const std::string& by) {
  v1::Finding& finding = findings_.at(id);
  if (finding.explained_by() == by) return;
  finding.set_explained_by(by);
  news_.insert(id);
}

void Grouping::Judge(Bucket& bucket) {
  std::map<Extent, std::vector<const v1::Finding*>> wholes;
  for (const auto& [id, seat] : bucket.members)
    for (const Extent& extent : seat.extents)
      if (bucket.wholes.contains(extent)) {
        wholes[extent].push_back(&findings_.at(id));
        break;  // The largest
      }
  std::map<std::string, std::string> explained;  // By which, by id
  for (const auto& [extent, members] : wholes) {
    v1::Subject whole;
    whole.set_scope(extent.scope);
    whole.set_node(extent.node);
    whole.set_switch_name(extent.switch_name);
    if (extent.scope == v1::SCOPE_RAIL) whole.set_rail(extent.rail);
    v1::Finding cause = CommonCause(std::move(whole), members);
    for (const std::string& id : cause.explains()) explained[id] = cause.id();
    const std::string id = cause.id();
    bucket.causes.insert(id);
    news_.insert(id);
    findings_[id].Swap(&cause);
  }
  for (const auto& [id, seat] : bucket.members) {
    const auto by = explained.find(id);
    Explain(id, by == explained.end() ? std::string() : by->second);
  }
}

void Grouping::JudgeStale() {
  const std::set<std::string> stale = std::exchange(stale_, {});
  // All before any is made: with another text the cause of the same ports has the same id.
  for (const std::string& alike : stale)
    for (const std::string& id : std::exchange(buckets_.at(alike).causes, {})) {
      findings_.erase(id);
      news_.insert(id);
    }
  for (const std::string& alike : stale) {
    const auto bucket = buckets_.find(alike);
    Judge(bucket->second);
    if (bucket->second.members.empty()) buckets_.erase(bucket);
  }
}

void Grouping::Take(Delta delta) {
  counts_ = delta.counts;
  for (const std::string& id : delta.gone) {
    Leave(id);
    findings_.erase(id);
    news_.insert(id);
  }
  for (v1::Finding& finding : delta.found) {
    const std::string id = finding.id();
    Leave(id);
    findings_[id].Swap(&finding);
    news_.insert(id);
    Enter(id);
  }
  LookAtMoved();
  JudgeStale();
}

Delta Grouping::News() {
  Delta delta;
  delta.counts = counts_;
  for (const std::string& id : std::exchange(news_, {})) {
    const auto found = findings_.find(id);
    if (found != findings_.end())
      delta.found.push_back(found->second);
    else
      delta.gone.push_back(id);
  }
  return delta;
}

Evaluation Grouping::All() const {
  Evaluation all;
  all.counts = counts_;
  for (const auto& [id, finding] : findings_) all.findings.push_back(finding);
  return all;
}

}  // namespace fabric::rules
