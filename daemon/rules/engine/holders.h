// Uniqueness over a fleet that changes: who has which key. Part of the engine.
//
// Of a key only a hash is kept, 64 bits, and what two have is read again from their snapshots.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/key_table.h"
#include "daemon/rules/engine/ledger.h"
#include "daemon/rules/engine/roster.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

class Holders {
 public:
  // Of all rules with a uniqueness. Both are borrowed.
  Holders(const Roster& roster, Ledger& ledger);

  void Put(std::uint32_t node);
  void Remove(std::uint32_t node);
  // What the changes since the last call make of the keys that several have.
  void Judge();

 private:
  using Hash = std::uint64_t;
  using Refs = std::vector<Ref>;

  // Keys that the same members have: one finding.
  struct Cluster {
    std::set<Hash> keys;
    Ids ids;
  };
  struct Table {
    const Rule* rule = nullptr;
    const Uniqueness* uniqueness = nullptr;
    KeyTable first;                           // Of every key one that has it
    std::unordered_map<Hash, Refs> repeated;  // All, where there are several
    std::set<Hash> waiting;                   // Repeated ones, or that were, to be judged again
    std::map<Refs, Cluster> clusters;
    std::unordered_map<Hash, Refs> cluster_of;
    std::uint64_t passes = 0;
  };
  struct Key {
    std::uint32_t table = 0;
    std::uint32_t port = 0;
    Hash hash = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::vector<Key> KeysOf(std::uint32_t node);
  void Enter(Table& table, Hash hash, const Ref& ref);
  void Leave(Table& table, Hash hash, const Ref& ref);
  void Judge(Table& table);
  std::vector<Holder> HoldersOf(const Table& table, Hash hash, Refs* members);
  void Note(Table& table, Cluster& cluster);

  const Roster& roster_;
  Ledger& ledger_;
  std::vector<Table> tables_;
  std::vector<std::vector<Key>> keys_;  // By number of node; sorted
  std::vector<Holder> scratch_;
};

}  // namespace fabric::rules
