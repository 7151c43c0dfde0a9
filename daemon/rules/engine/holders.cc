#include "daemon/rules/engine/holders.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/groups.h"

namespace fabric::rules {
namespace {

bool IsSame(const Uniqueness& uniqueness, const Holder& a, const Holder& b) {
  if (a.member.node == b.member.node && a.member.port == b.member.port) return true;
  return uniqueness.same != nullptr && uniqueness.same(a, b);
}

}  // namespace

Holders::Holders(const Roster& roster, Ledger& ledger) : roster_(roster), ledger_(ledger) {
  for (const Rule* rule : AllRules())
    if (rule->unique != nullptr) tables_.push_back({.rule = rule, .uniqueness = rule->unique});
}

std::vector<Holders::Key> Holders::KeysOf(std::uint32_t node) {
  std::vector<Key> keys;
  if (keys_.size() > node) keys.reserve(keys_[node].size() + 1);
  const auto ports = static_cast<std::uint32_t>(roster_.at(node).ports.size());
  for (std::uint32_t number = 0; number < tables_.size(); ++number) {
    const Uniqueness& uniqueness = *tables_[number].uniqueness;
    const auto add = [&](const Ref& ref) {
      const auto first = static_cast<std::ptrdiff_t>(keys.size());
      scratch_.clear();
      uniqueness.keys(roster_.MemberOf(ref), scratch_);
      for (const Holder& holder : scratch_)
        keys.push_back({.table = number, .port = ref.port, .hash = HashValue()(holder.key)});
      std::sort(keys.begin() + first, keys.end());  // Those before it are smaller
    };
    if (uniqueness.of_nodes) add({.node = node});
    for (std::uint32_t port = 0; port < ports && !uniqueness.of_nodes; ++port)
      add({.node = node, .port = port});
  }
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void Holders::Put(std::uint32_t node) {
  if (keys_.size() <= node) keys_.resize(node + 1);
  std::vector<Key> keys = KeysOf(node);
  const std::vector<Key>& before = keys_[node];
  auto old = before.begin();
  for (const Key& key : keys) {
    for (; old != before.end() && *old < key; ++old)
      Leave(tables_[old->table], old->hash, {.node = node, .port = old->port});
    Table& table = tables_[key.table];
    if (old == before.end() || *old != key) {
      Enter(table, key.hash, {.node = node, .port = key.port});
      continue;
    }
    ++old;
    if (!table.repeated.empty() && table.repeated.contains(key.hash))
      table.waiting.insert(key.hash);
  }
  for (; old != before.end(); ++old)
    Leave(tables_[old->table], old->hash, {.node = node, .port = old->port});
  keys_[node] = std::move(keys);
}

void Holders::Remove(std::uint32_t node) {
  if (keys_.size() <= node) return;
  for (const Key& key : std::exchange(keys_[node], {}))
    Leave(tables_[key.table], key.hash, {.node = node, .port = key.port});
}

void Holders::Enter(Table& table, Hash hash, const Ref& ref) {
  const Ref* const first = table.first.Find(hash);
  if (first == nullptr) return table.first.Add(hash, ref);
  Refs& refs = table.repeated[hash];
  if (refs.empty()) refs.push_back(*first);
  refs.push_back(ref);
  table.waiting.insert(hash);
}

void Holders::Leave(Table& table, Hash hash, const Ref& ref) {
  const auto repeated = table.repeated.find(hash);
  if (repeated == table.repeated.end()) {
    table.first.Remove(hash);
    return;
  }
  Refs& refs = repeated->second;
  refs.erase(std::find(refs.begin(), refs.end(), ref));
  *table.first.Find(hash) = refs.front();
  if (refs.size() == 1) table.repeated.erase(repeated);
  table.waiting.insert(hash);
}

void Holders::Judge() {
  for (Table& table : tables_) {
    if (!table.waiting.empty()) Judge(table);
    ledger_.CountPasses(table.passes, table.first.size() - table.cluster_of.size());
  }
}

// By name, each thing once. Less than two: all is well.
std::vector<Holder> Holders::HoldersOf(const Table& table, Hash hash, Refs* members) {
  const auto repeated = table.repeated.find(hash);
  if (repeated == table.repeated.end()) return {};
  Refs refs = repeated->second;
  std::sort(refs.begin(), refs.end(),
            [&](const Ref& a, const Ref& b) { return roster_.Before(a, b); });
  std::vector<Holder> holders;
  for (const Ref& ref : refs) {
    scratch_.clear();
    table.uniqueness->keys(roster_.MemberOf(ref), scratch_);
    const auto holder = std::find_if(scratch_.begin(), scratch_.end(),
                                     [&](const Holder& h) { return HashValue()(h.key) == hash; });
    if (holder == scratch_.end()) continue;
    const bool known = std::any_of(holders.begin(), holders.end(), [&](const Holder& h) {
      return IsSame(*table.uniqueness, h, *holder);
    });
    if (known) continue;
    holders.push_back(*holder);
    if (members != nullptr) members->push_back(ref);
  }
  return holders;
}

void Holders::Judge(Table& table) {
  std::set<Refs> changed;
  for (const Hash hash : std::exchange(table.waiting, {})) {
    if (const auto known = table.cluster_of.find(hash); known != table.cluster_of.end()) {
      table.clusters[known->second].keys.erase(hash);
      changed.insert(known->second);
      table.cluster_of.erase(known);
    }
    Refs members;
    (void)HoldersOf(table, hash, &members);
    if (members.size() < 2) continue;
    table.clusters[members].keys.insert(hash);
    changed.insert(members);
    table.cluster_of.emplace(hash, std::move(members));
  }
  for (const Refs& members : changed) {
    const auto cluster = table.clusters.find(members);
    if (!cluster->second.keys.empty()) {
      Note(table, cluster->second);
      continue;
    }
    ledger_.Drop(cluster->second.ids);
    table.clusters.erase(cluster);
  }
}

void Holders::Note(Table& table, Cluster& cluster) {
  std::vector<std::vector<Holder>> shared;
  for (const Hash hash : cluster.keys) shared.push_back(HoldersOf(table, hash, nullptr));
  std::sort(shared.begin(), shared.end(),
            [](const auto& a, const auto& b) { return a.front().key < b.front().key; });
  Verdicts out(table.rule->id, table.rule->severity);
  FailShared(*table.uniqueness, shared, out);
  ledger_.Replace(cluster.ids, out.findings());
}

}  // namespace fabric::rules
