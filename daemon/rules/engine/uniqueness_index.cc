#include "daemon/rules/engine/uniqueness_index.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/digest.h"

namespace fabric::rules {
namespace {

bool IsSame(const UniquenessRule& uniqueness, const KeyHolder& a, const KeyHolder& b) {
  if (a.member.node == b.member.node && a.member.port == b.member.port) return true;
  return uniqueness.same != nullptr && uniqueness.same(a, b);
}

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
  Refs& holders = table.shared[hash];
  if (holders.empty()) holders.push_back(known->second);
  holders.push_back(ref);
  table.changed.insert(hash);
}

void UniquenessIndex::Leave(Table& table, Hash hash, const Ref& ref) {
  const auto shared = table.shared.find(hash);
  if (shared == table.shared.end()) {
    table.holder.erase(hash);
    return;
  }
  Refs& holders = shared->second;
  holders.erase(std::find(holders.begin(), holders.end(), ref));
  table.holder.at(hash) = holders.front();
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

void UniquenessIndex::Judge() {
  for (Table& table : tables_) {
    if (!table.changed.empty()) Judge(table);
    findings_.CountPasses(table.passes, table.holder.size() - table.conflict_of.size());
  }
}

// Sorted by name, without holders that are the same thing. Less than two are no conflict.
std::vector<KeyHolder> UniquenessIndex::HoldersOf(const Table& table, Hash hash, Refs* members) {
  const auto known = table.shared.find(hash);
  if (known == table.shared.end()) return {};
  Refs refs = known->second;
  std::sort(refs.begin(), refs.end(),
            [&](const Ref& a, const Ref& b) { return nodes_.Before(a, b); });
  std::vector<KeyHolder> holders;
  for (const Ref& ref : refs) {
    scratch_.clear();
    table.uniqueness->keys(nodes_.MemberOf(ref), scratch_);
    const auto holder = std::ranges::find_if(
        scratch_, [&](const KeyHolder& each) { return HashValue()(each.key) == hash; });
    if (holder == scratch_.end()) continue;
    const bool same = std::ranges::any_of(
        holders, [&](const KeyHolder& other) { return IsSame(*table.uniqueness, other, *holder); });
    if (same) continue;
    holders.push_back(*holder);
    if (members != nullptr) members->push_back(ref);
  }
  return holders;
}

void UniquenessIndex::Judge(Table& table) {
  std::set<Refs> changed;
  for (const Hash hash : std::exchange(table.changed, {})) {
    if (const auto known = table.conflict_of.find(hash); known != table.conflict_of.end()) {
      table.conflicts[known->second].keys.erase(hash);
      changed.insert(known->second);
      table.conflict_of.erase(known);
    }
    Refs members;
    (void)HoldersOf(table, hash, &members);
    if (members.size() < 2) continue;
    table.conflicts[members].keys.insert(hash);
    changed.insert(members);
    table.conflict_of.emplace(hash, std::move(members));
  }
  for (const Refs& members : changed) {
    const auto conflict = table.conflicts.find(members);
    if (!conflict->second.keys.empty()) {
      Report(table, conflict->second);
      continue;
    }
    findings_.Drop(conflict->second.ids);
    table.conflicts.erase(conflict);
  }
}

void UniquenessIndex::Report(Table& table, Conflict& conflict) {
  std::vector<std::vector<KeyHolder>> shared;
  for (const Hash hash : conflict.keys) shared.push_back(HoldersOf(table, hash, nullptr));
  std::sort(shared.begin(), shared.end(),
            [](const auto& a, const auto& b) { return a.front().key < b.front().key; });
  Verdicts out(table.rule->id, table.rule->severity);
  FailShared(*table.uniqueness, shared, out);
  findings_.Replace(conflict.ids, out.findings());
}

}  // namespace fabric::rules
