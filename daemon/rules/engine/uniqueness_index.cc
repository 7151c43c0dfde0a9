#include "daemon/rules/engine/uniqueness_index.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/digest.h"
#include "daemon/rules/engine/distinct_holders.h"

namespace fabric::rules {
namespace {

// To sort a holder, to read its keys and to name it.
constexpr std::uint64_t kWorkOfHolder = 2;

}  // namespace

UniquenessIndex::UniquenessIndex(const NodeIndex& nodes, FindingTable& findings)
    : nodes_(nodes), findings_(findings) {
  for (const Rule* rule : AllRules())
    if (rule->uniqueness_rule != nullptr)
      tables_.push_back({.rule = rule,
                         .number = NumberOf(*rule),
                         .uniqueness = rule->uniqueness_rule,
                         .holder = std::pmr::unordered_map<Hash, Ref>(&memory_)});
}

std::vector<UniquenessIndex::Key> UniquenessIndex::KeysOf(std::uint32_t node) {
  std::vector<Key> keys;
  keys.reserve(keys_[node].size() + 1);
  const auto ports = static_cast<std::uint32_t>(nodes_.at(node).ports.size());
  for (std::uint32_t number = 0; number < tables_.size(); ++number) {
    const UniquenessRule& uniqueness = *tables_[number].uniqueness;
    const auto add = [&](const Ref& ref) {
      scratch_.clear();
      uniqueness.keys(nodes_.MemberOf(ref), scratch_);
      for (const KeyHolder& holder : scratch_)
        keys.push_back({.table = number, .port = ref.port, .hash = HashValue()(holder.key)});
    };
    if (uniqueness.of_nodes) add({.node = node});
    for (std::uint32_t port = 0; port < ports && !uniqueness.of_nodes; ++port)
      add({.node = node, .port = port});
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void UniquenessIndex::Put(std::uint32_t node) {
  if (keys_.size() <= node) keys_.resize(node + 1);
  std::vector<Key> keys = KeysOf(node);
  const std::vector<Key>& before = keys_[node];
  auto old = before.begin();
  const auto leave = [&] {
    Leave(tables_[old->table], old->hash, {.node = node, .port = old->port});
    ++old;
  };
  for (const Key& key : keys) {
    while (old != before.end() && *old < key) leave();
    Table& table = tables_[key.table];
    if (old == before.end() || *old != key) {
      Enter(table, key.hash, {.node = node, .port = key.port});
      continue;
    }
    ++old;
    if (table.shared.contains(key.hash)) table.changed.insert(key.hash);
  }
  while (old != before.end()) leave();
  keys_[node] = std::move(keys);
}

void UniquenessIndex::Remove(std::uint32_t node) {
  if (keys_.size() <= node) return;
  for (const Key& key : std::exchange(keys_[node], {}))
    Leave(tables_[key.table], key.hash, {.node = node, .port = key.port});
}

// Grows the buckets by four instead of two: a large fleet enters a million keys, and each growth
// moves all of them.
void UniquenessIndex::Enter(Table& table, Hash hash, const Ref& ref) {
  if (table.holder.size() >= table.holder.bucket_count())
    table.holder.rehash(4 * table.holder.bucket_count());
  const auto [known, added] = table.holder.try_emplace(hash, ref);
  if (added) return;
  Holders& holders = table.shared[hash];
  holders.insert(known->second);
  holders.insert(ref);
  table.changed.insert(hash);
}

void UniquenessIndex::Leave(Table& table, Hash hash, const Ref& ref) {
  const auto shared = table.shared.find(hash);
  if (shared == table.shared.end()) {
    table.holder.erase(hash);
    return;
  }
  Holders& holders = shared->second;
  holders.erase(ref);
  table.holder.at(hash) = *holders.begin();
  if (holders.size() == 1) table.shared.erase(shared);
  table.changed.insert(hash);
}

void UniquenessIndex::AddPassing(RuleSet& rules) const {
  for (const Table& table : tables_)
    if (table.passes > 0) rules.set(table.number);
}

void UniquenessIndex::AddJudging(std::uint32_t node, RuleSet& rules) const {
  if (keys_.size() <= node) return;
  for (const Key& key : keys_[node]) rules.set(tables_[key.table].number);
}

// First all keys: a conflict is reported with the holders that its keys have now.
bool UniquenessIndex::Judge(WorkLeft& work) {
  for (Table& table : tables_)
    if (!JudgeKeys(table, work)) return false;
  for (Table& table : tables_) {
    if (!ReportConflicts(table, work)) return false;
    findings_.CountPasses(table.passes, table.holder.size() - table.conflict_of.size());
  }
  return true;
}

// Sorted by name, without holders that are the same thing. Less than two are no conflict.
std::vector<KeyHolder> UniquenessIndex::HoldersOf(const Table& table, Hash hash, Refs* members,
                                                  WorkLeft& work) {
  const auto known = table.shared.find(hash);
  if (known == table.shared.end()) return {};
  Refs refs(known->second.begin(), known->second.end());
  work.Spend(kWorkOfHolder * refs.size());
  std::sort(refs.begin(), refs.end(),
            [&](const Ref& a, const Ref& b) { return nodes_.Before(a, b); });
  DistinctHolders holders(*table.uniqueness);
  for (const Ref& ref : refs) {
    scratch_.clear();
    table.uniqueness->keys(nodes_.MemberOf(ref), scratch_);
    const auto holder = std::ranges::find_if(
        scratch_, [&](const KeyHolder& each) { return HashValue()(each.key) == hash; });
    if (holder == scratch_.end() || !holders.Keep(*holder)) continue;
    if (members != nullptr) members->push_back(ref);
  }
  return holders.kept();
}

bool UniquenessIndex::JudgeKeys(Table& table, WorkLeft& work) {
  while (!table.changed.empty()) {
    if (work.over()) return false;
    JudgeKey(table, table.changed.extract(table.changed.begin()).value(), work);
  }
  return true;
}

void UniquenessIndex::JudgeKey(Table& table, Hash hash, WorkLeft& work) {
  if (const auto known = table.conflict_of.find(hash); known != table.conflict_of.end()) {
    table.conflicts[known->second].keys.erase(hash);
    table.to_report.insert(std::move(known->second));
    table.conflict_of.erase(known);
  }
  Refs members;
  (void)HoldersOf(table, hash, &members, work);
  if (members.size() < 2) return;
  table.conflicts[members].keys.insert(hash);
  table.to_report.insert(members);
  table.conflict_of.emplace(hash, std::move(members));
}

bool UniquenessIndex::ReportConflicts(Table& table, WorkLeft& work) {
  while (!table.to_report.empty()) {
    if (work.over()) return false;
    const auto conflict = table.conflicts.find(*table.to_report.begin());
    if (conflict->second.keys.empty()) {
      findings_.Drop(conflict->second.ids);
      table.conflicts.erase(conflict);
    } else {
      Report(table, conflict->second, work);
    }
    table.to_report.erase(table.to_report.begin());
  }
  return true;
}

void UniquenessIndex::Report(Table& table, Conflict& conflict, WorkLeft& work) {
  work.Spend(kWorkOfFinding);
  std::vector<std::vector<KeyHolder>> shared;
  for (const Hash hash : conflict.keys) shared.push_back(HoldersOf(table, hash, nullptr, work));
  std::sort(shared.begin(), shared.end(),
            [](const auto& a, const auto& b) { return a.front().key < b.front().key; });
  Verdicts out(table.rule->id, table.rule->severity);
  FailShared(*table.uniqueness, shared, out);
  findings_.Replace(conflict.ids, out.findings());
}

}  // namespace fabric::rules
