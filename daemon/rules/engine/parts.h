// Rules that look at nodes beside each other, over a fleet that changes: each part of it, of nodes
// that hang together, has its findings. Part of the engine.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/ledger.h"
#include "daemon/rules/engine/pool.h"
#include "daemon/rules/engine/roster.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

class Parts {
 public:
  // Of all rules with evaluate_part. Both are borrowed.
  Parts(const Roster& roster, Ledger& ledger);

  void Put(std::uint32_t node);
  void Remove(std::uint32_t node);
  // What the changes since the last call make of the parts that they are in.
  void Judge();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  using Nodes = std::vector<std::uint32_t>;

  // Nodes of which the rule reads the same: there are few kinds of them, and most of a part are of
  // one. They are always in one part.
  struct Alike {
    const std::vector<std::uint64_t>* facts = nullptr;  // Of Table::alike_by_facts
    std::vector<std::uint32_t> keys;                    // Numbers of those that join them to others
    Nodes nodes;
    std::uint32_t part = kNone;
  };
  struct Row {
    std::uint32_t alike = kNone;  // None: takes no part
    std::uint64_t texts = 0;
  };
  struct Key {
    std::uint64_t key = 0;
    std::vector<std::uint32_t> alike;  // Those that have it
    std::uint64_t seen = 0;            // When these were looked for behind it last
    bool changed = false;              // In `changed`
  };
  struct Part {
    Ids ids;
    std::uint64_t passes = 0;
    bool ended = false;  // In `ended`
  };
  struct HashFacts {
    std::size_t operator()(const std::vector<std::uint64_t>& facts) const;
  };
  struct Table {
    const Rule* rule = nullptr;
    std::vector<Row> rows;                                     // By number of node
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // Of keys that somebody has
    std::unordered_map<std::vector<std::uint64_t>, std::uint32_t, HashFacts> alike_by_facts;
    Pool<Key> keys;
    Pool<Alike> alike;
    Pool<Part> parts;
    std::vector<std::uint32_t> changed;  // Keys of nodes that have changed
    std::vector<std::uint32_t> ended;    // Parts of these
    std::uint64_t now = 0;               // Counts the parts that were made
  };

  static bool IsAsBefore(const Table& table, const Row& row, const PartFacts& read);
  static std::uint32_t NumberOf(Table& table, std::uint64_t key);
  static void Change(Table& table, const Alike& alike);
  static void End(Table& table, Alike& alike);
  static std::uint32_t AlikeOf(Table& table, std::vector<std::uint64_t> facts);
  static void Enter(Table& table, std::uint32_t node, PartFacts read);
  static void Leave(Table& table, std::uint32_t node);
  static void Forget(Table& table, std::uint32_t number);
  static std::vector<std::uint32_t> TakePart(Table& table, std::uint32_t key, std::uint32_t part);
  void Judge(Table& table);
  void Judge(const Table& table, const std::vector<std::uint32_t>& found, Part& part);

  const Roster& roster_;
  Ledger& ledger_;
  std::vector<Table> tables_;
  std::vector<const fleet::NodeView*> views_;  // While a part is judged
};

}  // namespace fabric::rules
