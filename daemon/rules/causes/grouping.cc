#include "daemon/rules/causes/grouping.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "daemon/rules/causes/common_cause.h"
#include "daemon/rules/engine/digest.h"
#include "daemon/rules/pcie/pci.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {
namespace {

constexpr std::size_t kPortsMin = 2;  // Of a node
constexpr std::size_t kNodesMin = 3;  // Of anything larger
constexpr std::size_t kRailsMin = 2;  // On which nobody is blamed

std::string_view SwitchOf(const fleet::PortView& port) {
  const v1::LldpNeighbor* const neighbor = NeighborOf(port);
  if (neighbor == nullptr) return {};
  return neighbor->system_name().empty() ? neighbor->chassis_id() : neighbor->system_name();
}

bool IsActive(const fleet::PortView& port) {
  return port.port->state() == v1::PORT_STATE_ACTIVE;
}

// But for when it was read, and for what explains them.
bool ReadAlike(v1::Finding a, v1::Finding b) {
  for (v1::Finding* finding : {&a, &b}) {
    finding->clear_explained_by();
    for (v1::Evidence& evidence : *finding->mutable_evidence()) evidence.clear_read_at();
  }
  return a.SerializeAsString() == b.SerializeAsString();
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

std::size_t Grouping::HashExtent::operator()(const Extent& extent) const {
  const auto scope = static_cast<std::uint64_t>(extent.scope);
  Digest digest;
  if (!extent.node.empty()) digest.Add(extent.node);
  if (!extent.switch_name.empty()) digest.Add(extent.switch_name);
  return digest.Add(std::uint64_t{extent.rail} << 8 | scope).value();
}

// Who is judged by it later finds it as it is then.
void Grouping::CountIn(const Extent& extent, const Count& ports, bool come) {
  const auto [at, added] = extents_.try_emplace(extent);
  Count& count = at->second;
  count.all = come ? count.all + ports.all : count.all - ports.all;
  count.up = come ? count.up + ports.up : count.up - ports.up;
  const bool is_rail = extent.scope == v1::SCOPE_RAIL;
  if (added && is_rail) ++rails_;
  if (count.all == 0) {
    extents_.erase(at);
    if (is_rail) --rails_;
  }
  if (!several_.empty()) moved_.insert(extent);
}

void Grouping::CountPort(const Port& port, bool come, Count& all) {
  const Count one = {.all = 1, .up = port.up ? 1U : 0U};
  if (!port.switch_name.empty())
    CountIn({.scope = v1::SCOPE_SWITCH, .switch_name = port.switch_name}, one, come);
  CountIn({.scope = v1::SCOPE_RAIL, .rail = port.rail}, one, come);
  all.all += one.all;
  all.up += one.up;
}

// Of the ports alone that are not as before: there may be thousands of switches and nodes to look
// these up among.
void Grouping::CountPorts(const std::string& node, const Ports& before, const Ports& now) {
  Count gone;
  Count come;
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const bool was = i < before.size();
    const bool is = i < now.size();
    if (was && is && before[i] == now[i]) continue;
    if (was) CountPort(before[i], false, gone);
    if (is) CountPort(now[i], true, come);
  }
  for (const Extent& extent : {Extent{.scope = v1::SCOPE_NODE, .node = node}, Extent()}) {
    CountIn(extent, gone, false);
    CountIn(extent, come, true);  // Of the fleet also how many nodes there are
  }
  if (ids_on_.contains(node) || explains_.KnowsOf(node)) moved_nodes_.insert(node);
}

Grouping::Ports Grouping::PortsOf(const fleet::NodeView& node) {
  Ports ports;
  ports.reserve(node.ports.size());
  for (const fleet::PortView& port : node.ports)
    if (port.rail)
      ports.push_back({.device = port.device->name(),
                       .number = port.port->number(),
                       .rail = port.rail->value(),
                       .switch_name = std::string(SwitchOf(port)),
                       .card = std::string(CardOf(port.device->pci_address())),
                       .up = IsActive(port)});
  return ports;
}

// Without copies: most reports tell nothing new of it.
bool Grouping::IsAsBefore(const fleet::NodeView& node, const Ports& ports) {
  std::size_t at = 0;
  for (const fleet::PortView& port : node.ports) {
    if (!port.rail) continue;
    if (at == ports.size()) return false;
    const Port& was = ports[at++];
    if (was.device != port.device->name() || was.number != port.port->number() ||
        was.rail != port.rail->value() || was.switch_name != SwitchOf(port) ||
        was.card != CardOf(port.device->pci_address()) || was.up != IsActive(port))
      return false;
  }
  return at == ports.size();
}

void Grouping::Put(const fleet::NodeView& node) {
  const std::string& name = node.node->name;
  const auto [known, added] = nodes_.try_emplace(name);
  if (!added && IsAsBefore(node, known->second)) return;
  Ports ports = PortsOf(node);
  CountPorts(name, known->second, ports);
  known->second = std::move(ports);
}

void Grouping::Remove(const std::string& node) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  CountPorts(node, known->second, {});
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

Place Grouping::PlaceOf(const v1::Finding& finding) const {
  const v1::Subject& subject = finding.subject();
  const auto node = nodes_.find(subject.node());
  if (node == nodes_.end()) return {};
  for (const Port& port : node->second) {
    if (port.device != subject.device()) continue;
    if (subject.scope() == v1::SCOPE_DEVICE) return {.card = port.card};
    if (port.number == subject.port())
      return {.card = port.card, .rail = port.rail, .switch_name = port.switch_name};
  }
  return {};
}

bool Grouping::IsWhole(const Extent& extent, const Bucket& bucket) const {
  const auto concerned = bucket.concerned.find(extent);
  if (concerned == bucket.concerned.end()) return false;
  const auto& [count, nodes] = concerned->second;
  if (bucket.scope == v1::SCOPE_NODE) return count.all >= kNodesMin && count.all == nodes_.size();
  if (bucket.scope == v1::SCOPE_RAIL) return count.all >= kRailsMin && count.all == rails_;
  const bool enough =
      extent.scope == v1::SCOPE_NODE ? count.all >= kPortsMin : nodes.size() >= kNodesMin;
  if (!enough) return false;
  const auto there = extents_.find(extent);
  if (there == extents_.end()) return false;
  return there->second.up > 0 ? count.up == there->second.up : count.all == there->second.all;
}

void Grouping::Look(Alike& bucket, const Extents& extents) {
  for (const Extent& extent : extents) {
    const auto known = bucket.second.wholes.find(extent);
    const bool was = known != bucket.second.wholes.end() && known->second.holds;
    const bool is = IsWhole(extent, bucket.second);
    if (was == is) continue;
    bucket.second.wholes[extent].holds = is;
    stale_.emplace(bucket.first, extent);
    LookAtMembers(bucket, extent);
  }
}

// Those in an extent of which all are concerned now, or no more.
void Grouping::LookAtMembers(Alike& bucket, const Extent& extent) {
  auto& members = bucket.second.members;
  if (extent.scope == v1::SCOPE_NODE) {
    const auto on = ids_on_.find(extent.node);
    if (on == ids_on_.end()) return;
    for (const std::string& id : on->second)
      if (const auto member = members.find(id); member != members.end())
        FindWhole(bucket, id, member->second);
    return;
  }
  for (auto& [id, seat] : members)
    if (std::find(seat.extents.begin(), seat.extents.end(), extent) != seat.extents.end())
      FindWhole(bucket, id, seat);
}

void Grouping::FindWhole(Alike& bucket, const std::string& id, Seat& seat) {
  auto& wholes = bucket.second.wholes;
  std::optional<std::size_t> explained;
  for (std::size_t i = 0; i < seat.extents.size() && !explained; ++i)
    if (const auto at = wholes.find(seat.extents[i]); at != wholes.end() && at->second.holds)
      explained = i;
  if (explained == seat.explained) return;
  TakeFromWhole(bucket, id, seat);
  seat.explained = explained;
  if (!explained) return;
  wholes.at(seat.extents[*explained]).explained.insert(id);
  stale_.emplace(bucket.first, seat.extents[*explained]);
}

void Grouping::TakeFromWhole(Alike& bucket, const std::string& id, Seat& seat) {
  if (!seat.explained) return;
  const Extent& extent = seat.extents[*seat.explained];
  bucket.second.wholes.at(extent).explained.erase(id);
  stale_.emplace(bucket.first, extent);
  loose_.insert(id);
  seat.explained.reset();
}

void Grouping::Enter(const std::string& id, Known& known) {
  if (explains_.HasCause(id)) return;
  std::string alike = AlikeKey(known.finding);
  if (alike.empty()) return;
  Alike& bucket = *buckets_.try_emplace(std::move(alike)).first;
  auto& [scope, members, concerned, wholes] = bucket.second;
  scope = known.finding.subject().scope();
  Seat& seat = members[id];
  seat = SeatOf(known.finding);
  if (members.size() == 2) several_.insert(&bucket);
  for (const Extent& extent : seat.extents) {
    auto& [count, nodes] = concerned[extent];
    ++count.all;
    count.up += seat.up ? 1U : 0U;
    if (extent.scope != v1::SCOPE_NODE) ++nodes[seat.node];
  }
  ids_on_[seat.node].insert(id);
  known.bucket = &bucket;
  Look(bucket, seat.extents);
  FindWhole(bucket, id, seat);
}

void Grouping::Leave(const std::string& id, Known& known) {
  if (known.bucket == nullptr) return;
  Alike& bucket = *std::exchange(known.bucket, nullptr);
  auto& [scope, members, concerned, wholes] = bucket.second;
  const auto member = members.find(id);
  TakeFromWhole(bucket, id, member->second);
  const Seat seat = std::move(member->second);
  members.erase(member);
  if (members.size() == 1) several_.erase(&bucket);
  for (const Extent& extent : seat.extents) {
    const auto at = concerned.find(extent);
    auto& [count, nodes] = at->second;
    --count.all;
    count.up -= seat.up ? 1U : 0U;
    const auto node = nodes.find(seat.node);
    if (node != nodes.end() && --node->second == 0) nodes.erase(node);
    if (count.all == 0) concerned.erase(at);
  }
  const auto on = ids_on_.find(seat.node);
  on->second.erase(id);
  if (on->second.empty()) ids_on_.erase(on);
  Look(bucket, seat.extents);
  if (members.empty() && wholes.empty()) buckets_.erase(bucket.first);
}

// True for one that stays where it is. What stands for it is built anew only where it reads
// differently then: it shows when the first of its members was read, of the others nothing of that.
bool Grouping::Refresh(const std::string& id, Known& known, v1::Finding& finding) {
  if (known.bucket == nullptr || known.bucket->first != AlikeKey(finding)) return false;
  Alike& bucket = *known.bucket;
  const Seat& seat = bucket.second.members.at(id);
  const Seat now = SeatOf(finding);
  if (seat.extents != now.extents || seat.up != now.up) return false;
  finding.set_explained_by(known.finding.explained_by());
  if (seat.explained) {
    const Extent& extent = seat.extents[*seat.explained];
    const std::string& cause = bucket.second.wholes.at(extent).cause;
    const bool is_first = !cause.empty() && findings_.at(cause).finding.explains(0) == id;
    if (is_first || !ReadAlike(known.finding, finding)) stale_.emplace(bucket.first, extent);
  }
  known.finding.Swap(&finding);
  return true;
}

// Ports of nodes have come, gone or changed: seats first, then what is whole now.
void Grouping::LookAtMoved() {
  for (const std::string& node : std::exchange(moved_nodes_, {})) {
    for (const std::string& id : explains_.On(node)) {
      const v1::Finding& finding = findings_.at(id).finding;
      explains_.Found(finding, PlaceOf(finding));
    }
    const auto on = ids_on_.find(node);
    if (on == ids_on_.end()) continue;
    for (const std::string& id : std::set<std::string>(on->second)) {
      Known& known = findings_.at(id);
      Leave(id, known);
      Enter(id, known);
    }
  }
  if (moved_.empty()) return;
  const Extents extents(moved_.begin(), moved_.end());
  moved_.clear();
  for (Alike* const bucket : several_) Look(*bucket, extents);
}

void Grouping::Explain(const std::string& id, const std::string& by) {
  explains_.Grouped(id, by);
  v1::Finding& finding = findings_.at(id).finding;
  if (finding.explained_by() == by) return;
  finding.set_explained_by(by);
  news_.insert(id);
}

void Grouping::Judge(const Extent& extent, Whole& whole) {
  std::vector<const v1::Finding*> members;
  for (const std::string& id : whole.explained) members.push_back(&findings_.at(id).finding);
  v1::Subject subject;
  subject.set_scope(extent.scope);
  subject.set_node(extent.node);
  subject.set_switch_name(extent.switch_name);
  if (extent.scope == v1::SCOPE_RAIL) subject.set_rail(extent.rail);
  v1::Finding cause = CommonCause(std::move(subject), members);
  whole.cause = cause.id();
  for (const std::string& id : whole.explained) Explain(id, whole.cause);
  news_.insert(whole.cause);
  findings_[whole.cause].finding.Swap(&cause);
}

void Grouping::JudgeStale() {
  const auto stale = std::exchange(stale_, {});
  // All before any is made: with another text the cause of the same ports has the same id.
  for (const auto& [alike, extent] : stale) {
    const std::string cause = std::exchange(buckets_.at(alike).wholes.at(extent).cause, {});
    if (cause.empty()) continue;
    findings_.erase(cause);
    news_.insert(cause);
  }
  for (const auto& [alike, extent] : stale) {
    const auto bucket = buckets_.find(alike);
    const auto whole = bucket->second.wholes.find(extent);
    if (!whole->second.explained.empty()) Judge(extent, whole->second);
    if (!whole->second.holds) bucket->second.wholes.erase(whole);
    if (bucket->second.members.empty() && bucket->second.wholes.empty()) buckets_.erase(bucket);
  }
  for (const std::string& id : std::exchange(loose_, {})) {
    const auto known = findings_.find(id);
    if (known == findings_.end() || known->second.bucket == nullptr) continue;
    if (!known->second.bucket->second.members.at(id).explained) Explain(id, {});
  }
}

// What has a cause of another rule now is in no bucket, and is again when it has none.
void Grouping::JudgeCauses() {
  for (const std::string& id : explains_.Judge()) {
    Known& known = findings_.at(id);
    Leave(id, known);
    Explain(id, {});
    Enter(id, known);
  }
}

void Grouping::TakeGone(const std::string& id) {
  news_.insert(id);
  explains_.Gone(id);
  const auto known = findings_.find(id);
  if (known == findings_.end()) return;
  Leave(id, known->second);
  findings_.erase(known);
}

void Grouping::TakeFound(v1::Finding& finding) {
  const std::string id = finding.id();
  news_.insert(id);
  explains_.Found(finding, PlaceOf(finding));
  Known& known = findings_[id];
  if (Refresh(id, known, finding)) return;
  Leave(id, known);
  explains_.Grouped(id, {});  // Until its bucket is judged
  known.finding.Swap(&finding);
  Enter(id, known);
}

void Grouping::Take(Delta delta) {
  counts_ = delta.counts;
  for (const std::string& id : delta.gone) TakeGone(id);
  for (v1::Finding& finding : delta.found) TakeFound(finding);
  LookAtMoved();
  JudgeCauses();
  JudgeStale();
  news_.merge(explains_.Settle());
}

Delta Grouping::News() {
  Delta delta;
  delta.counts = counts_;
  for (const std::string& id : std::exchange(news_, {})) {
    const auto found = findings_.find(id);
    if (found == findings_.end()) {
      delta.gone.push_back(id);
      continue;
    }
    delta.found.push_back(found->second.finding);
    explains_.Mark(delta.found.back());
  }
  return delta;
}

Evaluation Grouping::All() const {
  Evaluation all;
  all.counts = counts_;
  all.findings.reserve(findings_.size());
  for (const auto& [id, known] : findings_) {
    all.findings.push_back(known.finding);
    explains_.Mark(all.findings.back());
  }
  std::sort(all.findings.begin(), all.findings.end(),
            [](const v1::Finding& a, const v1::Finding& b) { return a.id() < b.id(); });
  return all;
}

}  // namespace fabric::rules
