#include "daemon/rules/causes/finding_aggregator.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/causes/common_cause.h"

namespace fabric::rules {
namespace {

constexpr std::size_t kPortsMin = 2;  // Of a node
constexpr std::size_t kNodesMin = 3;  // Of a larger scope
constexpr std::size_t kRailsMin = 2;  // Without a majority on them

// Ignores when the evidence was read, and the cause.
bool HasSameText(v1::Finding a, v1::Finding b) {
  for (v1::Finding* finding : {&a, &b}) {
    finding->clear_explained_by();
    for (v1::Evidence& evidence : *finding->mutable_evidence()) evidence.clear_read_at();
  }
  return a.SerializeAsString() == b.SerializeAsString();
}

// Not a common cause: what it summarizes is.
bool IsAbout(const v1::Finding& finding, const std::set<std::string>& nodes) {
  return !finding.common_cause() &&
         std::ranges::any_of(finding.affected(), [&](const v1::Subject& subject) {
           return nodes.contains(subject.node());
         });
}

}  // namespace

std::vector<v1::Finding> FindingsView::Copy() const {
  std::vector<const Seen*> sorted;
  sorted.reserve(seen_.size());
  for (const Seen& seen : seen_) sorted.push_back(&seen);
  std::sort(sorted.begin(), sorted.end(),
            [](const Seen* a, const Seen* b) { return a->finding->id() < b->finding->id(); });
  std::vector<v1::Finding> findings;
  findings.reserve(sorted.size());
  for (const Seen* const seen : sorted) seen->marks.Set(findings.emplace_back(*seen->finding));
  return findings;
}

std::vector<v1::Finding> FindingsView::About(const std::set<std::string>& nodes) const {
  std::vector<v1::Finding> about;
  for (const Seen& seen : seen_)
    if (IsAbout(*seen.finding, nodes)) about.push_back(*seen.finding);
  return about;
}

std::vector<v1::Finding> FindingAggregator::About(const std::set<std::string>& nodes) const {
  std::vector<v1::Finding> about;
  for (const auto& [id, entry] : findings_)
    if (IsAbout(*entry.finding, nodes)) about.push_back(*entry.finding);
  return about;
}

void FindingAggregator::Put(const fleet::NodeView& node) {
  NoteChange(node.node->name, ports_.Put(node));
}

void FindingAggregator::Remove(const std::string& node) {
  NoteChange(node, ports_.Remove(node));
}

void FindingAggregator::NoteChange(const std::string& node, const Scopes& changed) {
  if (changed.empty()) return;
  if (!repeated_.empty()) changed_scopes_.insert(changed.begin(), changed.end());
  if (ids_by_node_.contains(node) || causes_.KnowsOf(node)) changed_nodes_.insert(node);
}

bool FindingAggregator::IsComplete(const Scope& scope, const Similar& similar) const {
  const auto known = similar.affected.find(scope);
  if (known == similar.affected.end()) return false;
  const auto& [count, nodes] = known->second;
  if (similar.subject == v1::SCOPE_NODE)
    return count.all >= kNodesMin && count.all == ports_.nodes();
  if (similar.subject == v1::SCOPE_RAIL)
    return count.all >= kRailsMin && count.all == ports_.rails();
  const bool enough =
      scope.kind == v1::SCOPE_NODE ? count.all >= kPortsMin : nodes.size() >= kNodesMin;
  if (!enough) return false;
  const PortCount existing = ports_.CountOf(scope);
  if (existing.all == 0) return false;
  return existing.up > 0 ? count.up == existing.up : count.all == existing.all;
}

// The members of a large scope are assigned when all of its changes are known.
void FindingAggregator::UpdateAggregate(KeyedSimilar& similar, const Scope& scope) {
  auto& aggregates = similar.second.aggregates;
  const auto known = aggregates.find(scope);
  const bool was_complete = known != aggregates.end() && known->second.complete;
  const bool is_complete = IsComplete(scope, similar.second);
  if (was_complete == is_complete) return;
  aggregates[scope].complete = is_complete;
  changed_aggregates_.emplace(similar.first, scope);
  if (scope.kind == v1::SCOPE_NODE)
    AssignMembersOn(scope.node, similar);
  else
    changed_similar_.insert(similar.first);
}

void FindingAggregator::AssignMembersOn(const std::string& node, KeyedSimilar& similar) {
  const auto on_node = ids_by_node_.find(node);
  if (on_node == ids_by_node_.end()) return;
  for (const std::string& id : on_node->second)
    if (const auto member = similar.second.members.find(id); member != similar.second.members.end())
      AssignMember(similar, id, member->second);
}

// To the complete aggregate of the largest scope.
void FindingAggregator::AssignMember(KeyedSimilar& similar, const std::string& id, Member& member) {
  auto& aggregates = similar.second.aggregates;
  const Scopes& scopes = member.location.scopes;
  std::optional<std::size_t> largest;
  for (std::size_t i = 0; i < scopes.size() && !largest; ++i)
    if (const auto at = aggregates.find(scopes[i]); at != aggregates.end() && at->second.complete)
      largest = i;
  if (largest == member.aggregate) return;
  ReleaseMember(similar, id, member);
  member.aggregate = largest;
  if (!largest) return;
  aggregates.at(scopes[*largest]).members.insert(id);
  changed_aggregates_.emplace(similar.first, scopes[*largest]);
}

void FindingAggregator::ReleaseMember(KeyedSimilar& similar, const std::string& id,
                                      Member& member) {
  if (!member.aggregate) return;
  const Scope& scope = member.location.scopes[*member.aggregate];
  similar.second.aggregates.at(scope).members.erase(id);
  changed_aggregates_.emplace(similar.first, scope);
  released_.insert(id);
  member.aggregate.reset();
}

void FindingAggregator::Enter(const std::string& id, Entry& entry) {
  if (causes_.HasCause(id)) return;
  std::string key = SimilarityKey(*entry.finding);
  if (key.empty()) return;
  KeyedSimilar& similar = *similar_.try_emplace(std::move(key)).first;
  auto& [subject, members, affected, aggregates] = similar.second;
  subject = entry.finding->subject().scope();
  Member& member = members[id];
  member = {.location = ports_.LocationOf(*entry.finding)};
  const Location& location = member.location;
  if (members.size() == 2) repeated_.insert(&similar);
  for (const Scope& scope : location.scopes) {
    auto& [count, nodes] = affected[scope];
    ++count.all;
    count.up += location.up ? 1U : 0U;
    if (scope.kind != v1::SCOPE_NODE) ++nodes[location.node];
  }
  ids_by_node_[location.node].insert(id);
  entry.similar = &similar;
  for (const Scope& scope : location.scopes) UpdateAggregate(similar, scope);
  AssignMember(similar, id, member);
}

void FindingAggregator::Leave(const std::string& id, Entry& entry) {
  if (entry.similar == nullptr) return;
  KeyedSimilar& similar = *std::exchange(entry.similar, nullptr);
  auto& [subject, members, affected, aggregates] = similar.second;
  const auto member = members.find(id);
  ReleaseMember(similar, id, member->second);
  const Location location = std::move(member->second.location);
  members.erase(member);
  if (members.size() == 1) repeated_.erase(&similar);
  for (const Scope& scope : location.scopes) {
    const auto at = affected.find(scope);
    auto& [count, nodes] = at->second;
    --count.all;
    count.up -= location.up ? 1U : 0U;
    const auto node = nodes.find(location.node);
    if (node != nodes.end() && --node->second == 0) nodes.erase(node);
    if (count.all == 0) affected.erase(at);
  }
  const auto on_node = ids_by_node_.find(location.node);
  on_node->second.erase(id);
  if (on_node->second.empty()) ids_by_node_.erase(on_node);
  for (const Scope& scope : location.scopes) UpdateAggregate(similar, scope);
  if (members.empty() && aggregates.empty()) similar_.erase(similar.first);
}

// Returns true when the finding keeps its key and location. Its aggregate is built again only when
// the text changes, or when it is the first member: the aggregate shows when that was read.
bool FindingAggregator::UpdateInPlace(const std::string& id, Entry& entry, v1::Finding& finding) {
  if (entry.similar == nullptr || entry.similar->first != SimilarityKey(finding)) return false;
  Similar& similar = entry.similar->second;
  const Member& member = similar.members.at(id);
  const Location now = ports_.LocationOf(finding);
  if (member.location.scopes != now.scopes || member.location.up != now.up) return false;
  finding.set_explained_by(entry.finding->explained_by());
  if (member.aggregate) {
    const Scope& scope = member.location.scopes[*member.aggregate];
    const std::string& aggregate = similar.aggregates.at(scope).finding;
    const bool is_first = !aggregate.empty() && findings_.at(aggregate).finding->explains(0) == id;
    if (is_first || !HasSameText(*entry.finding, finding))
      changed_aggregates_.emplace(entry.similar->first, scope);
  }
  Replace(entry, std::make_unique<v1::Finding>(std::move(finding)));
  return true;
}

v1::Finding& FindingAggregator::Changeable(Entry& entry) {
  if (views_ > 0) Replace(entry, std::make_unique<v1::Finding>(*entry.finding));
  return *entry.finding;
}

// Keeps the old finding while a view may read it.
void FindingAggregator::Replace(Entry& entry, std::unique_ptr<v1::Finding> finding) {
  entry.finding.swap(finding);
  if (views_ > 0 && finding != nullptr) replaced_.push_back(std::move(finding));
}

void FindingAggregator::EndView() {
  if (--views_ == 0) replaced_.clear();
}

FindingsView::~FindingsView() {
  if (of_ != nullptr) of_->EndView();
}

void FindingAggregator::SetExplainedBy(const std::string& id, const std::string& by) {
  causes_.Grouped(id, by);
  Entry& entry = findings_.at(id);
  if (entry.finding->explained_by() == by) return;
  Changeable(entry).set_explained_by(by);
  changed_.insert(id);
}

void FindingAggregator::Build(const Scope& scope, Aggregate& aggregate) {
  std::vector<const v1::Finding*> members;
  for (const std::string& id : aggregate.members) members.push_back(findings_.at(id).finding.get());
  v1::Subject subject;
  subject.set_scope(scope.kind);
  subject.set_node(scope.node);
  subject.set_switch_name(scope.switch_name);
  if (scope.kind == v1::SCOPE_RAIL) subject.set_rail(scope.rail);
  v1::Finding finding = CommonCause(std::move(subject), members);
  aggregate.finding = finding.id();
  for (const std::string& id : aggregate.members) SetExplainedBy(id, aggregate.finding);
  changed_.insert(aggregate.finding);
  Replace(findings_[aggregate.finding], std::make_unique<v1::Finding>(std::move(finding)));
}

void FindingAggregator::TakeGone(const std::string& id) {
  changed_.insert(id);
  causes_.Gone(id);
  const auto known = findings_.find(id);
  if (known == findings_.end()) return;
  Leave(id, known->second);
  Replace(known->second, nullptr);
  findings_.erase(known);
}

void FindingAggregator::TakeFound(v1::Finding& finding) {
  const std::string id = finding.id();
  changed_.insert(id);
  causes_.Found(finding, ports_.PlaceOf(finding));
  Entry& entry = findings_[id];
  if (UpdateInPlace(id, entry, finding)) return;
  Leave(id, entry);
  causes_.Grouped(id, {});  // Until its aggregate is built
  Replace(entry, std::make_unique<v1::Finding>(std::move(finding)));
  Enter(id, entry);
}

void FindingAggregator::Take(Delta delta) {
  TakeSome(std::move(delta));
  WorkLeft unlimited(kWorkUnlimited);
  (void)Settle(unlimited);
}

void FindingAggregator::TakeSome(Delta delta) {
  counts_ = delta.counts;
  for (const std::string& id : delta.gone) TakeGone(id);
  for (v1::Finding& finding : delta.found) TakeFound(finding);
}

bool FindingAggregator::CollectNews(WorkLeft& work) {
  while (!changed_.empty()) {
    if (work.over()) return false;
    work.Spend(kWorkOfFinding / 4);
    const std::string id = std::move(changed_.extract(changed_.begin()).value());
    const auto found = findings_.find(id);
    if (found == findings_.end()) {
      news_.gone.push_back(id);
      continue;
    }
    news_.found.push_back(*found->second.finding);
    causes_.Mark(news_.found.back());
  }
  return true;
}

Delta FindingAggregator::News() {
  WorkLeft unlimited(kWorkUnlimited);
  (void)CollectNews(unlimited);
  news_.counts = counts_;
  return std::exchange(news_, {});
}

Evaluation FindingAggregator::All() {
  Evaluation all;
  all.counts = counts_;
  all.findings = View().Copy();
  return all;
}

FindingsView FindingAggregator::View() {
  FindingsView view(*this);
  ++views_;
  view.seen_.reserve(findings_.size());
  for (const auto& [id, entry] : findings_)
    view.seen_.push_back({.finding = entry.finding.get(), .marks = causes_.MarksOf(id)});
  return view;
}

}  // namespace fabric::rules
