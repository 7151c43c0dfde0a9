#include "daemon/rules/causes/explains.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "daemon/rules/engine/digest.h"

namespace fabric::rules {
namespace {

// Of which one is not the only one any more.
constexpr std::size_t kFewest = 2;
// Ports that one switch has at most. More on a rail are not paused by one and the same.
constexpr std::size_t kOfOneSwitch = 256;

bool Names(std::span<const std::string_view> rules, std::string_view rule) {
  return std::ranges::find(rules, rule) != rules.end();
}

}  // namespace

Explains::Explains() {
  for (const Explanation& row : Explanations()) {
    const bool of_peer = row.where == Where::kPeer;
    for (const std::string_view rule : row.causes) {
      Role& role = roles_[rule];
      role.is_cause = true;
      role.of_node = role.of_node || row.where == Where::kNode;
      role.is_peer = role.is_peer || of_peer;
    }
    for (const std::string_view rule : row.effects) {
      Role& role = roles_[rule];
      role.of_effect.push_back(&row);
      role.has_peer = role.has_peer || of_peer;
    }
  }
}

std::size_t Explains::HashSpot::operator()(const Spot& spot) const {
  return Digest().Add(spot.where).Add(spot.what).Add(8U * spot.number + spot.kind).value();
}

bool Explains::Spot::IsOfPeers() const {
  return kind == kOnSwitch || kind == kOnSwitchAndRail || kind == kOnRail;
}

bool Explains::Known::SameAs(const Known& other) const {
  const auto key = [](const Known& known) {
    return std::tie(known.severity, known.counter, known.as_cause, known.as_effect);
  };
  return key(*this) == key(other);
}

Explains::Known Explains::Read(const v1::Finding& finding, const Role& role,
                               const Place& place) const {
  const v1::Subject& subject = finding.subject();
  const v1::Scope scope = subject.scope();
  Known known{.role = &role,
              .rule = finding.rule(),
              .node = subject.node(),
              .counter = finding.evidence().empty() ? std::string() : finding.evidence(0).what(),
              .severity = finding.severity()};
  Spots at;
  const bool is_port = scope == v1::SCOPE_PORT || scope == v1::SCOPE_LINK;
  if (is_port) at.push_back({Spot::kPort, subject.node(), subject.device(), subject.port()});
  if (is_port || scope == v1::SCOPE_DEVICE)
    at.push_back({Spot::kCard, subject.node(), place.card.empty() ? subject.device() : place.card});
  Spots peers;
  if ((role.is_peer || role.has_peer) && is_port) {
    if (!place.switch_name.empty()) peers.push_back({Spot::kOnSwitch, place.switch_name});
    if (!place.switch_name.empty() && place.rail)
      peers.push_back({Spot::kOnSwitchAndRail, place.switch_name, {}, *place.rail});
    // One behind a known switch may still be the cause for those whose switch is not known.
    if (place.rail && (role.is_peer || place.switch_name.empty()))
      peers.push_back({Spot::kOnRail, {}, {}, *place.rail});
  }
  if (!role.of_effect.empty()) {
    known.as_effect = at;
    if (role.has_peer) known.as_effect.insert(known.as_effect.end(), peers.begin(), peers.end());
    known.as_effect.push_back({Spot::kNode, subject.node()});
    if (!place.switch_name.empty()) known.as_effect.push_back({Spot::kSwitch, place.switch_name});
  }
  if (role.is_cause) {
    known.as_cause = std::move(at);
    if (role.is_peer) known.as_cause.insert(known.as_cause.end(), peers.begin(), peers.end());
    if (scope == v1::SCOPE_NODE) known.as_cause.push_back({Spot::kNode, subject.node()});
    if (scope == v1::SCOPE_SWITCH) known.as_cause.push_back({Spot::kSwitch, subject.switch_name()});
  }
  return known;
}

void Explains::Found(const v1::Finding& finding, Place place) {
  const auto role = roles_.find(finding.rule());
  if (role == roles_.end()) return;
  if (finding.verdict() != v1::VERDICT_FAIL) return Gone(finding.id());
  Known known = Read(finding, role->second, place);
  const auto [at, added] = known_.try_emplace(finding.id());
  if (!added && at->second.SameAs(known)) return;
  if (!added) {
    Leave(at->first, at->second);
    known.cause = std::move(at->second.cause);
    known.group = std::move(at->second.group);
    known.root = std::move(at->second.root);
    known.effects = std::move(at->second.effects);
    if (!known.root.empty()) news_.insert(known.root);  // It may be more severe or less.
  }
  at->second = std::move(known);
  Enter(at->first, at->second);
}

void Explains::Gone(const std::string& id) {
  const auto at = known_.find(id);
  if (at == known_.end()) return;
  Leave(id, at->second);
  const Known known = std::move(at->second);
  known_.erase(at);
  stale_.erase(id);
  stale_.insert(known.effects.begin(), known.effects.end());
  moved_.insert(known.effects.begin(), known.effects.end());
  if (const auto cause = known_.find(known.cause); cause != known_.end())
    cause->second.effects.erase(id);
  if (known.root.empty()) return;
  const auto root = explained_.find(known.root);
  root->second.erase(id);
  if (root->second.empty()) explained_.erase(root);
  news_.insert(known.root);
}

std::vector<std::string> Explains::On(const std::string& node) const {
  const auto on = on_.find(node);
  if (on == on_.end()) return {};
  return {on->second.begin(), on->second.end()};
}

// Effects that meet a cause that comes or goes are judged anew.
void Explains::Touch(const Spot& spot) {
  const Here& here = spots_.at(spot);
  if (spot.IsOfPeers() && here.causes.size() > kFewest) return;
  if (spot.kind == Spot::kOnRail && here.effects.size() > kOfOneSwitch) return;
  stale_.insert(here.effects.begin(), here.effects.end());
}

// After one has come, and before one goes.
void Explains::TouchWhenTooMany(const Spot& spot) {
  const Here& here = spots_.at(spot);
  if (spot.kind == Spot::kOnRail && here.effects.size() == kOfOneSwitch + 1)
    stale_.insert(here.effects.begin(), here.effects.end());
}

void Explains::Enter(const std::string& id, const Known& known) {
  on_[known.node].insert(id);
  for (const Spot& spot : known.as_effect) {
    spots_[spot].effects.insert(id);
    TouchWhenTooMany(spot);
  }
  for (const Spot& spot : known.as_cause) {
    spots_[spot].causes.insert(id);
    Touch(spot);
  }
  if (!known.as_effect.empty()) stale_.insert(id);
  if (known.role->of_node) CountNode(known, true);
}

void Explains::Leave(const std::string& id, const Known& known) {
  const auto on = on_.find(known.node);
  on->second.erase(id);
  if (on->second.empty()) on_.erase(on);
  for (const Spot& spot : known.as_cause) {
    Touch(spot);
    spots_.at(spot).causes.erase(id);
  }
  for (const Spot& spot : known.as_effect) {
    TouchWhenTooMany(spot);
    spots_.at(spot).effects.erase(id);
  }
  for (const Spots* spots : {&known.as_cause, &known.as_effect})
    for (const Spot& spot : *spots) {
      const auto at = spots_.find(spot);
      if (at != spots_.end() && at->second.causes.empty() && at->second.effects.empty())
        spots_.erase(at);
    }
  stale_.erase(id);
  if (known.role->of_node) CountNode(known, false);
}

// Who is alone is no more when a second comes, and is again when that goes.
void Explains::CountNode(const Known& known, bool come) {
  const auto with = nodes_with_.try_emplace(known.rule).first;
  std::map<std::string, std::size_t>& nodes = with->second;
  const auto touch = [&] {
    if (nodes.size() > kFewest) return;
    for (const auto& [node, count] : nodes)
      if (const auto at = spots_.find({Spot::kNode, node}); at != spots_.end()) Touch(at->first);
  };
  if (come) {
    ++nodes[known.node];
    return touch();
  }
  touch();
  if (--nodes.at(known.node) == 0) nodes.erase(known.node);
  if (nodes.empty()) nodes_with_.erase(with);
}

bool Explains::IsAlone(const std::string& id) const {
  return nodes_with_.at(known_.at(id).rule).size() == 1;
}

// Of the causes of the row that are there the first by the row, then by id.
std::string Explains::First(const Explanation& row, const Spot& spot,
                            const std::string& not_id) const {
  const auto at = spots_.find(spot);
  if (at == spots_.end()) return {};
  for (const std::string_view rule : row.causes)
    for (const std::string& id : at->second.causes)
      if (id != not_id && known_.at(id).rule == rule) return id;
  return {};
}

std::string Explains::TheOnly(const Explanation& row, const Spot& spot,
                              const std::string& not_id) const {
  const auto at = spots_.find(spot);
  if (at == spots_.end()) return {};
  if (spot.kind == Spot::kOnRail && at->second.effects.size() > kOfOneSwitch) return {};
  std::string only;
  for (const std::string& id : at->second.causes) {
    if (id == not_id || !Names(row.causes, known_.at(id).rule)) continue;
    if (!only.empty()) return {};
    only = id;
  }
  return only;
}

std::string Explains::Peer(const Explanation& row, const std::string& id,
                           const Known& effect) const {
  for (const Spot& spot : effect.as_effect) {
    if (!spot.IsOfPeers()) continue;
    if (std::string only = TheOnly(row, spot, id); !only.empty()) return only;
  }
  return {};
}

std::string Explains::CauseOf(const std::string& id, const Known& effect) const {
  for (const Explanation* const row : effect.role->of_effect) {
    if (!row->counter.empty() && row->counter != effect.counter) continue;
    std::string found;
    if (row->where == Where::kPeer) found = Peer(*row, id, effect);
    for (const Spot& spot : effect.as_effect) {
      if (!found.empty()) break;
      const bool of_port =
          spot.kind == Spot::kPort || spot.kind == Spot::kNode || spot.kind == Spot::kSwitch;
      const bool meets = (row->where == Where::kPort && of_port) ||
                         (row->where == Where::kCard && spot.kind == Spot::kCard) ||
                         (row->where == Where::kNode && spot.kind == Spot::kNode);
      if (meets) found = First(*row, spot, id);
      if (!found.empty() && row->where == Where::kNode && !IsAlone(found)) found.clear();
    }
    if (!found.empty()) return found;
  }
  return {};
}

std::set<std::string> Explains::Judge() {
  std::set<std::string> changed;
  for (const std::string& id : std::exchange(stale_, {})) {
    const auto at = known_.find(id);
    if (at == known_.end()) continue;
    std::string cause = CauseOf(id, at->second);
    if (!cause.empty()) known_.at(cause).effects.insert(id);
    if (cause == at->second.cause) continue;
    if (const auto before = known_.find(at->second.cause); before != known_.end())
      before->second.effects.erase(id);
    at->second.cause = std::move(cause);
    changed.insert(id);
    moved_.insert(id);
  }
  return changed;
}

bool Explains::HasCause(const std::string& id) const {
  const auto at = known_.find(id);
  return at != known_.end() && !at->second.cause.empty();
}

void Explains::Grouped(const std::string& id, const std::string& by) {
  const auto at = known_.find(id);
  if (at == known_.end() || at->second.group == by) return;
  at->second.group = by;
  moved_.insert(id);
}

// The table has no circles.
std::string Explains::RootOf(const std::string& id) const {
  const Known* known = &known_.at(id);
  if (known->cause.empty()) return {};
  std::string last;
  while (!known->cause.empty()) {
    last = known->cause;
    known = &known_.at(last);
  }
  return known->group.empty() ? last : known->group;
}

std::set<std::string> Explains::Settle() {
  std::set<std::string> news = std::exchange(news_, {});
  std::vector<std::string> look(moved_.begin(), moved_.end());
  moved_.clear();
  std::set<std::string> seen;
  while (!look.empty()) {
    const std::string id = std::move(look.back());
    look.pop_back();
    const auto at = known_.find(id);
    if (at == known_.end() || !seen.insert(id).second) continue;
    look.insert(look.end(), at->second.effects.begin(), at->second.effects.end());
    std::string& root = at->second.root;
    std::string now = RootOf(id);
    if (now == root) continue;
    news.insert({id, root, now});
    if (const auto was = explained_.find(root); was != explained_.end()) {
      was->second.erase(id);
      if (was->second.empty()) explained_.erase(was);
    }
    if (!now.empty()) explained_[now].insert(id);
    root = std::move(now);
  }
  news.erase(std::string());
  return news;
}

void Explains::Mark(v1::Finding& finding) const {
  if (const auto at = known_.find(finding.id()); at != known_.end() && !at->second.root.empty())
    finding.set_explained_by(at->second.root);
  const auto explained = explained_.find(finding.id());
  if (explained == explained_.end()) return;
  for (const std::string& id : explained->second) {
    finding.add_explains(id);
    finding.set_severity(std::max(finding.severity(), known_.at(id).severity));
  }
}

}  // namespace fabric::rules
