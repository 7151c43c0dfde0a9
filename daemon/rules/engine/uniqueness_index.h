// Uniqueness rules over a changing fleet: who holds which key. Part of the engine.
//
// Keeps a 64-bit hash of each key. The keys of a conflict are read again from the snapshots.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/coverage.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/engine/work.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

class UniquenessIndex {
 public:
  // For all rules with a uniqueness_rule. Borrows both.
  UniquenessIndex(const NodeIndex& nodes, FindingTable& findings);

  // The node is new or has changed.
  void Put(std::uint32_t node);
  void Remove(std::uint32_t node);
  // Updates the findings after these changes. Returns false when work is over before all is judged:
  // call it again. Nodes may change meanwhile.
  bool Judge(WorkLeft& work);
  // Adds the rules with a pass.
  void AddPassing(RuleSet& rules) const;
  // Adds the rules that judge the node or its ports.
  void AddJudging(std::uint32_t node, RuleSet& rules) const;

 private:
  using Hash = std::uint64_t;
  using Refs = std::vector<Ref>;
  using Holders = std::set<Ref>;

  // Keys that the same members share: one finding.
  struct Conflict {
    std::set<Hash> keys;
    Ids ids;
  };
  struct Table {
    const Rule* rule = nullptr;
    std::size_t number = 0;  // Of the rule
    const UniquenessRule* uniqueness = nullptr;
    std::pmr::unordered_map<Hash, Ref> holder;  // One holder of each key; most have no other
    std::unordered_map<Hash, Holders> shared;   // All holders of the keys with several
    std::set<Hash> changed;                     // Keys to judge again: shared now or before
    std::set<Refs> to_report;                   // Conflicts whose keys were judged again
    std::map<Refs, Conflict> conflicts;
    std::unordered_map<Hash, Refs> conflict_of;
    std::uint64_t passes = 0;
  };
  struct Key {
    std::uint32_t table = 0;
    std::uint32_t port = 0;
    Hash hash = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::vector<Key> KeysOf(std::uint32_t node);
  static void Enter(Table& table, Hash hash, const Ref& ref);
  static void Leave(Table& table, Hash hash, const Ref& ref);
  bool JudgeKeys(Table& table, WorkLeft& work);
  void JudgeKey(Table& table, Hash hash, WorkLeft& work);
  bool ReportConflicts(Table& table, WorkLeft& work);
  std::vector<KeyHolder> HoldersOf(const Table& table, Hash hash, Refs* members, WorkLeft& work);
  void Report(Table& table, Conflict& conflict, WorkLeft& work);

  const NodeIndex& nodes_;
  FindingTable& findings_;
  std::pmr::unsynchronized_pool_resource memory_;  // A large fleet has a million keys
  std::vector<Table> tables_;
  std::vector<std::vector<Key>> keys_;  // By number of node; sorted
  std::vector<KeyHolder> scratch_;
};

}  // namespace fabric::rules
