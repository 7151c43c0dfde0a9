// Rules that look at nodes beside each other, over a fleet that changes: each part of it, of nodes
// that hang together, has its findings. Part of the engine.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "daemon/rules/ledger.h"
#include "daemon/rules/pool.h"
#include "daemon/rules/roster.h"
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

  struct Row {
    std::vector<std::uint64_t> facts;  // What the rule reads; nothing: takes no part
    std::vector<std::uint32_t> keys;   // Numbers of those that join it to others
    std::uint32_t part = kNone;
  };
  struct Key {
    std::uint64_t key = 0;
    Nodes nodes;             // That have it
    std::uint64_t seen = 0;  // When nodes were looked for behind it last
    bool changed = false;    // In `changed`
  };
  struct Part {
    Ids ids;
    std::uint64_t passes = 0;
    bool ended = false;  // In `ended`
  };
  struct Table {
    const Rule* rule = nullptr;
    std::vector<Row> rows;                                     // By number of node
    std::unordered_map<std::uint64_t, std::uint32_t> numbers;  // Of keys that somebody has
    Pool<Key> keys;
    Pool<Part> parts;
    std::vector<std::uint32_t> changed;  // Keys of nodes that have changed
    std::vector<std::uint32_t> ended;    // Parts of these
    std::uint64_t now = 0;               // Counts the parts that were made
  };

  static std::uint32_t NumberOf(Table& table, std::uint64_t key);
  static void Change(Table& table, std::uint32_t key);
  static void End(Table& table, Row& row);
  static void Enter(Table& table, std::uint32_t node, std::vector<std::uint64_t> facts);
  static void Leave(Table& table, std::uint32_t node);
  static Nodes TakePart(Table& table, std::uint32_t key, std::uint32_t part);
  void Judge(Table& table);
  void Judge(const Table& table, const Nodes& nodes, Part& part);

  const Roster& roster_;
  Ledger& ledger_;
  std::vector<Table> tables_;
};

}  // namespace fabric::rules
