// The part of FindingAggregator that works out aggregates and causes after changes, in parts.
#include <algorithm>
#include <utility>

#include "daemon/rules/causes/finding_aggregator.h"

namespace fabric::rules {
namespace {

constexpr std::uint64_t kWorkOfMember = 2;  // To find its aggregate, or to mark it
constexpr std::uint64_t kWorkOfCause = 4;   // To find it for one finding

}  // namespace

bool FindingAggregator::Settle(WorkLeft& work) {
  while (true) {
    if (work.over()) return false;
    switch (step_) {
      case Step::kNone: BeginSettling(); break;
      case Step::kLocations:
        if (!UpdateLocations(work)) return false;
        break;
      case Step::kScopes:
        if (!UpdateScopes(work)) return false;
        break;
      case Step::kCauses:
        if (!ApplyCauses(work)) return false;
        break;
      case Step::kMembers:
        if (!AssignMembers(work)) return false;
        break;
      case Step::kErase:
        if (!EraseAggregates(work)) return false;
        break;
      case Step::kBuild:
        if (!BuildAggregates(work)) return false;
        break;
      case Step::kReleased:
        if (!Release(work)) return false;
        break;
      case Step::kRoots:
        if (!FindRoots(work)) return false;
        step_ = Step::kNone;
        return true;
    }
    step_ = static_cast<Step>(static_cast<int>(step_) + 1);
  }
}

void FindingAggregator::BeginSettling() {
  for (const v1::Finding& finding : news_.found) changed_.insert(finding.id());  // May be older
  changed_.insert(news_.gone.begin(), news_.gone.end());
  news_ = {};
}

bool FindingAggregator::UpdateLocations(WorkLeft& work) {
  while (!changed_nodes_.empty()) {
    if (work.over()) return false;
    work.Spend(kWorkOfFinding);
    UpdateLocationsOn(changed_nodes_.extract(changed_nodes_.begin()).value());
  }
  if (!changed_scopes_.empty()) to_update_.assign(repeated_.begin(), repeated_.end());
  scopes_.assign(changed_scopes_.begin(), changed_scopes_.end());
  changed_scopes_.clear();
  next_scope_ = 0;
  return true;
}

void FindingAggregator::UpdateLocationsOn(const std::string& node) {
  for (const std::string& id : causes_.On(node)) {
    const v1::Finding& finding = *findings_.at(id).finding;
    causes_.Found(finding, ports_.PlaceOf(finding));
  }
  const auto on_node = ids_by_node_.find(node);
  if (on_node == ids_by_node_.end()) return;
  for (const std::string& id : std::set<std::string>(on_node->second)) {
    Entry& entry = findings_.at(id);
    Leave(id, entry);
    Enter(id, entry);
  }
}

bool FindingAggregator::UpdateScopes(WorkLeft& work) {
  constexpr std::size_t kScopesOfUnit = 4;
  for (; !to_update_.empty(); to_update_.pop_back(), next_scope_ = 0)
    while (next_scope_ < scopes_.size()) {
      if (work.over()) return false;
      if (next_scope_ % kScopesOfUnit == 0) work.Spend(1);
      UpdateAggregate(*to_update_.back(), scopes_[next_scope_++]);
    }
  return true;
}

// A finding that gets a cause leaves its aggregate; one that loses its cause enters it.
bool FindingAggregator::ApplyCauses(WorkLeft& work) {
  constexpr std::size_t kEffects = 16;
  while (!causes_.judged()) {
    if (work.over()) return false;
    const std::set<std::string> changed = causes_.JudgeSome(kEffects);
    work.Spend(kEffects * kWorkOfCause + changed.size() * kWorkOfFinding / 4);
    for (const std::string& id : changed) {
      Entry& entry = findings_.at(id);
      Leave(id, entry);
      SetExplainedBy(id, {});
      Enter(id, entry);
    }
  }
  return true;
}

// Of findings that have an aggregate of a large scope, or had one.
bool FindingAggregator::AssignMembers(WorkLeft& work) {
  while (!changed_similar_.empty()) {
    const auto similar = similar_.find(*changed_similar_.begin());
    if (similar != similar_.end()) {
      auto& members = similar->second.members;
      if (!next_member_) next_member_ = members.begin();
      for (; *next_member_ != members.end(); ++*next_member_) {
        if (work.over()) return false;
        work.Spend(kWorkOfMember);
        AssignMember(*similar, (*next_member_)->first, (*next_member_)->second);
      }
      next_member_.reset();
    }
    changed_similar_.erase(changed_similar_.begin());
  }
  return true;
}

// All, before any is built: aggregates of the same ports with another text have one id.
bool FindingAggregator::EraseAggregates(WorkLeft& work) {
  while (!changed_aggregates_.empty()) {
    if (work.over()) return false;
    work.Spend(kWorkOfMember);
    auto changed = std::move(changed_aggregates_.extract(changed_aggregates_.begin()).value());
    Aggregate& aggregate = similar_.at(changed.first).aggregates.at(changed.second);
    to_build_.push_back(std::move(changed));
    const std::string id = std::exchange(aggregate.finding, {});
    if (id.empty()) continue;
    if (const auto known = findings_.find(id); known != findings_.end()) {
      Replace(known->second, nullptr);
      findings_.erase(known);
    }
    changed_.insert(id);
  }
  std::reverse(to_build_.begin(), to_build_.end());
  return true;
}

bool FindingAggregator::BuildAggregates(WorkLeft& work) {
  while (!to_build_.empty()) {
    if (work.over()) return false;
    const auto [key, scope] = std::move(to_build_.back());
    to_build_.pop_back();
    const auto similar = similar_.find(key);
    const auto aggregate = similar->second.aggregates.find(scope);
    work.Spend(kWorkOfFinding + aggregate->second.members.size() * kWorkOfMember);
    if (!aggregate->second.members.empty()) Build(scope, aggregate->second);
    if (!aggregate->second.complete) similar->second.aggregates.erase(aggregate);
    if (similar->second.members.empty() && similar->second.aggregates.empty())
      similar_.erase(similar);
  }
  return true;
}

bool FindingAggregator::Release(WorkLeft& work) {
  while (!released_.empty()) {
    if (work.over()) return false;
    work.Spend(kWorkOfMember);
    const std::string id = std::move(released_.extract(released_.begin()).value());
    const auto entry = findings_.find(id);
    if (entry == findings_.end() || entry->second.similar == nullptr) continue;
    if (!entry->second.similar->second.members.at(id).aggregate) SetExplainedBy(id, {});
  }
  return true;
}

bool FindingAggregator::FindRoots(WorkLeft& work) {
  constexpr std::size_t kFindings = 16;
  while (!causes_.settled()) {
    if (work.over()) return false;
    work.Spend(kFindings * kWorkOfMember);
    changed_.merge(causes_.SettleSome(kFindings));
  }
  changed_.merge(causes_.SettleSome(0));
  return true;
}

}  // namespace fabric::rules
