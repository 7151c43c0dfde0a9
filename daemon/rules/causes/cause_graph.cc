#include "daemon/rules/causes/cause_graph.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/rules/engine/digest.h"

namespace fabric::rules {
namespace {

// With this many causes, none is the only one.
constexpr std::size_t kFewCauses = 2;
// Maximum number of ports of one switch. A rail with more paused ports has several switches.
constexpr std::size_t kPortsOfSwitch = 256;

bool Names(std::span<const std::string_view> rules, std::string_view rule) {
  return std::ranges::find(rules, rule) != rules.end();
}

}  // namespace

CauseGraph::CauseGraph() {
  for (const CauseRule& row : CauseRules()) {
    const bool of_peer = row.where == Where::kPeer;
    for (const std::string_view rule : row.causes) {
      RuleRole& role = roles_[rule];
      role.is_cause = true;
      role.of_node = role.of_node || row.where == Where::kNode;
      role.is_peer = role.is_peer || of_peer;
    }
    for (const std::string_view rule : row.effects) {
      RuleRole& role = roles_[rule];
      role.of_effect.push_back(&row);
      role.has_peer = role.has_peer || of_peer;
    }
  }
}

std::size_t CauseGraph::HashPoint::operator()(const Point& point) const {
  return Digest().Add(point.where).Add(point.what).Add(8U * point.number + point.kind).value();
}

bool CauseGraph::Point::IsOfPeers() const {
  return kind == kOnSwitch || kind == kOnSwitchAndRail || kind == kOnRail;
}

bool CauseGraph::Entry::SameAs(const Entry& other) const {
  const auto key = [](const Entry& entry) {
    return std::tie(entry.severity, entry.counter, entry.as_cause, entry.as_effect);
  };
  return key(*this) == key(other);
}

CauseGraph::Entry CauseGraph::Read(const v1::Finding& finding, const RuleRole& role,
                                   const Place& place) const {
  const v1::Subject& subject = finding.subject();
  const v1::Scope scope = subject.scope();
  Entry entry{.role = &role,
              .rule = finding.rule(),
              .node = subject.node(),
              .counter = finding.evidence().empty() ? std::string() : finding.evidence(0).what(),
              .severity = finding.severity()};
  Points at;
  const bool is_port = scope == v1::SCOPE_PORT || scope == v1::SCOPE_LINK;
  if (is_port) at.push_back({Point::kPort, subject.node(), subject.device(), subject.port()});
  if (is_port || scope == v1::SCOPE_DEVICE)
    at.push_back(
        {Point::kCard, subject.node(), place.card.empty() ? subject.device() : place.card});
  Points peers;
  if ((role.is_peer || role.has_peer) && is_port) {
    if (!place.switch_name.empty()) peers.push_back({Point::kOnSwitch, place.switch_name});
    if (!place.switch_name.empty() && place.rail)
      peers.push_back({Point::kOnSwitchAndRail, place.switch_name, {}, *place.rail});
    // A cause behind a known switch may explain effects behind an unknown switch.
    if (place.rail && (role.is_peer || place.switch_name.empty()))
      peers.push_back({Point::kOnRail, {}, {}, *place.rail});
  }
  if (!role.of_effect.empty()) {
    entry.as_effect = at;
    if (role.has_peer) entry.as_effect.insert(entry.as_effect.end(), peers.begin(), peers.end());
    entry.as_effect.push_back({Point::kNode, subject.node()});
    if (!place.switch_name.empty()) entry.as_effect.push_back({Point::kSwitch, place.switch_name});
  }
  if (role.is_cause) {
    entry.as_cause = std::move(at);
    if (role.is_peer) entry.as_cause.insert(entry.as_cause.end(), peers.begin(), peers.end());
    if (scope == v1::SCOPE_NODE) entry.as_cause.push_back({Point::kNode, subject.node()});
    if (scope == v1::SCOPE_SWITCH)
      entry.as_cause.push_back({Point::kSwitch, subject.switch_name()});
  }
  return entry;
}

void CauseGraph::Found(const v1::Finding& finding, Place place) {
  const auto role = roles_.find(finding.rule());
  if (role == roles_.end()) return;
  if (finding.verdict() != v1::VERDICT_FAIL) return Gone(finding.id());
  Entry entry = Read(finding, role->second, place);
  const auto [at, added] = entries_.try_emplace(finding.id());
  if (!added && at->second.SameAs(entry)) return;
  if (!added) {
    Leave(at->first, at->second);
    entry.cause = std::move(at->second.cause);
    entry.aggregate = std::move(at->second.aggregate);
    entry.root = std::move(at->second.root);
    entry.effects = std::move(at->second.effects);
    if (!entry.root.empty()) changed_.insert(entry.root);  // Its severity may change
  }
  at->second = std::move(entry);
  Enter(at->first, at->second);
}

void CauseGraph::Gone(const std::string& id) {
  const auto at = entries_.find(id);
  if (at == entries_.end()) return;
  Leave(id, at->second);
  const Entry entry = std::move(at->second);
  entries_.erase(at);
  changed_effects_.erase(id);
  changed_effects_.insert(entry.effects.begin(), entry.effects.end());
  changed_roots_.insert(entry.effects.begin(), entry.effects.end());
  if (const auto cause = entries_.find(entry.cause); cause != entries_.end())
    cause->second.effects.erase(id);
  if (entry.root.empty()) return;
  const auto root = effects_by_root_.find(entry.root);
  root->second.erase(id);
  if (root->second.empty()) effects_by_root_.erase(root);
  changed_.insert(entry.root);
}

std::vector<std::string> CauseGraph::On(const std::string& node) const {
  const auto on = ids_by_node_.find(node);
  if (on == ids_by_node_.end()) return {};
  return {on->second.begin(), on->second.end()};
}

// Called when a cause comes or goes.
void CauseGraph::Touch(const Point& point) {
  const Meeting& here = points_.at(point);
  if (point.IsOfPeers() && here.causes.size() > kFewCauses) return;
  if (point.kind == Point::kOnRail && here.effects.size() > kPortsOfSwitch) return;
  changed_effects_.insert(here.effects.begin(), here.effects.end());
}

// Called after an effect has come, and before one goes.
void CauseGraph::TouchAtLimit(const Point& point) {
  const Meeting& here = points_.at(point);
  if (point.kind == Point::kOnRail && here.effects.size() == kPortsOfSwitch + 1)
    changed_effects_.insert(here.effects.begin(), here.effects.end());
}

void CauseGraph::Enter(const std::string& id, const Entry& entry) {
  ids_by_node_[entry.node].insert(id);
  for (const Point& point : entry.as_effect) {
    points_[point].effects.insert(id);
    TouchAtLimit(point);
  }
  for (const Point& point : entry.as_cause) {
    points_[point].causes.insert(id);
    Touch(point);
  }
  if (!entry.as_effect.empty()) changed_effects_.insert(id);
  if (entry.role->of_node) CountNode(entry, true);
}

void CauseGraph::Leave(const std::string& id, const Entry& entry) {
  const auto on = ids_by_node_.find(entry.node);
  on->second.erase(id);
  if (on->second.empty()) ids_by_node_.erase(on);
  for (const Point& point : entry.as_cause) {
    Touch(point);
    points_.at(point).causes.erase(id);
  }
  for (const Point& point : entry.as_effect) {
    TouchAtLimit(point);
    points_.at(point).effects.erase(id);
  }
  for (const Points* points : {&entry.as_cause, &entry.as_effect})
    for (const Point& point : *points) {
      const auto at = points_.find(point);
      if (at != points_.end() && at->second.causes.empty() && at->second.effects.empty())
        points_.erase(at);
    }
  changed_effects_.erase(id);
  if (entry.role->of_node) CountNode(entry, false);
}

// A cause of kNode counts only while one node has it: see Where::kNode.
void CauseGraph::CountNode(const Entry& entry, bool come) {
  const auto with = nodes_by_rule_.try_emplace(entry.rule).first;
  std::map<std::string, std::size_t>& nodes = with->second;
  const auto touch = [&] {
    if (nodes.size() > kFewCauses) return;
    for (const auto& [node, count] : nodes)
      if (const auto at = points_.find({Point::kNode, node}); at != points_.end()) Touch(at->first);
  };
  if (come) {
    ++nodes[entry.node];
    return touch();
  }
  touch();
  if (--nodes.at(entry.node) == 0) nodes.erase(entry.node);
  if (nodes.empty()) nodes_by_rule_.erase(with);
}

bool CauseGraph::IsOnlyNode(const std::string& id) const {
  return nodes_by_rule_.at(entries_.at(id).rule).size() == 1;
}

// The first by the order of the row, then by id.
std::string CauseGraph::FirstCause(const CauseRule& row, const Point& point,
                                   const std::string& not_id) const {
  const auto at = points_.find(point);
  if (at == points_.end()) return {};
  for (const std::string_view rule : row.causes)
    for (const std::string& id : at->second.causes)
      if (id != not_id && entries_.at(id).rule == rule &&
          (row.cause_counter.empty() || entries_.at(id).counter == row.cause_counter))
        return id;
  return {};
}

std::string CauseGraph::OnlyCause(const CauseRule& row, const Point& point,
                                  const std::string& not_id) const {
  const auto at = points_.find(point);
  if (at == points_.end()) return {};
  if (point.kind == Point::kOnRail && at->second.effects.size() > kPortsOfSwitch) return {};
  std::string only;
  for (const std::string& id : at->second.causes) {
    if (id == not_id || !Names(row.causes, entries_.at(id).rule)) continue;
    if (!only.empty()) return {};
    only = id;
  }
  return only;
}

std::string CauseGraph::PeerCause(const CauseRule& row, const std::string& id,
                                  const Entry& effect) const {
  for (const Point& point : effect.as_effect) {
    if (!point.IsOfPeers()) continue;
    if (std::string only = OnlyCause(row, point, id); !only.empty()) return only;
  }
  return {};
}

std::string CauseGraph::CauseOf(const std::string& id, const Entry& effect) const {
  for (const CauseRule* const row : effect.role->of_effect) {
    if (!row->counter.empty() && row->counter != effect.counter) continue;
    std::string found;
    if (row->where == Where::kPeer) found = PeerCause(*row, id, effect);
    for (const Point& point : effect.as_effect) {
      if (!found.empty()) break;
      const bool of_port =
          point.kind == Point::kPort || point.kind == Point::kNode || point.kind == Point::kSwitch;
      const bool meets = (row->where == Where::kPort && of_port) ||
                         (row->where == Where::kCard && point.kind == Point::kCard) ||
                         (row->where == Where::kNode && point.kind == Point::kNode);
      if (meets) found = FirstCause(*row, point, id);
      if (!found.empty() && row->where == Where::kNode && !IsOnlyNode(found)) found.clear();
    }
    if (!found.empty()) return found;
  }
  return {};
}

std::set<std::string> CauseGraph::JudgeSome(std::size_t most) {
  std::set<std::string> changed;
  for (; most > 0 && !changed_effects_.empty(); --most) {
    const std::string id = std::move(changed_effects_.extract(changed_effects_.begin()).value());
    const auto at = entries_.find(id);
    if (at == entries_.end()) continue;
    std::string cause = CauseOf(id, at->second);
    if (!cause.empty()) entries_.at(cause).effects.insert(id);
    if (cause == at->second.cause) continue;
    if (const auto before = entries_.find(at->second.cause); before != entries_.end())
      before->second.effects.erase(id);
    at->second.cause = std::move(cause);
    changed.insert(id);
    changed_roots_.insert(id);
  }
  return changed;
}

bool CauseGraph::HasCause(const std::string& id) const {
  const auto at = entries_.find(id);
  return at != entries_.end() && !at->second.cause.empty();
}

void CauseGraph::Grouped(const std::string& id, const std::string& aggregate) {
  const auto at = entries_.find(id);
  if (at == entries_.end() || at->second.aggregate == aggregate) return;
  at->second.aggregate = aggregate;
  changed_roots_.insert(id);
}

// Ends because the table of cause rules has no cycles.
std::string CauseGraph::RootOf(const std::string& id) const {
  const Entry* entry = &entries_.at(id);
  if (entry->cause.empty()) return {};
  std::string last;
  while (!entry->cause.empty()) {
    last = entry->cause;
    entry = &entries_.at(last);
  }
  return entry->aggregate.empty() ? last : entry->aggregate;
}

std::set<std::string> CauseGraph::Settle() {
  std::set<std::string> changed;
  while (!settled()) changed.merge(SettleSome(changed_roots_.size()));
  changed.merge(SettleSome(0));
  return changed;
}

// Ends because each finding has at most one cause, and the table of cause rules has no cycles.
std::set<std::string> CauseGraph::SettleSome(std::size_t most) {
  std::set<std::string> changed = std::exchange(changed_, {});
  for (; most > 0 && !changed_roots_.empty(); --most) {
    const std::string id = std::move(changed_roots_.extract(changed_roots_.begin()).value());
    const auto at = entries_.find(id);
    if (at == entries_.end()) continue;
    changed_roots_.insert(at->second.effects.begin(), at->second.effects.end());
    std::string& root = at->second.root;
    std::string now = RootOf(id);
    if (now == root) continue;
    changed.insert({id, root, now});
    if (const auto was = effects_by_root_.find(root); was != effects_by_root_.end()) {
      was->second.erase(id);
      if (was->second.empty()) effects_by_root_.erase(was);
    }
    if (!now.empty()) effects_by_root_[now].insert(id);
    root = std::move(now);
  }
  changed.erase(std::string());
  return changed;
}

CauseGraph::Marks CauseGraph::MarksOf(const std::string& id) const {
  Marks marks;
  if (const auto at = entries_.find(id); at != entries_.end()) marks.explained_by = at->second.root;
  const auto explained = effects_by_root_.find(id);
  if (explained == effects_by_root_.end()) return marks;
  for (const std::string& effect : explained->second) {
    marks.explains.push_back(effect);
    marks.severity_min = std::max(marks.severity_min, entries_.at(effect).severity);
  }
  return marks;
}

void CauseGraph::Marks::Set(v1::Finding& finding) const {
  if (!explained_by.empty()) finding.set_explained_by(explained_by);
  for (const std::string& id : explains) finding.add_explains(id);
  finding.set_severity(std::max(finding.severity(), severity_min));
}

}  // namespace fabric::rules
