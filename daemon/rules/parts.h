// Rules that look at nodes beside each other, over a fleet that changes: each part of it, of nodes
// that hang together, has its findings. Part of the engine.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <vector>

#include "daemon/rules/ledger.h"
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
    std::uint64_t digest = 0;         // Of what the rule reads; 0: takes no part
    std::vector<std::uint64_t> keys;  // That join it to others
    std::uint32_t part = kNone;
  };
  struct Part {
    Ids ids;
    std::uint64_t passes = 0;
  };
  struct Table {
    const Rule* rule = nullptr;
    std::vector<Row> rows;                              // By number of node
    std::unordered_map<std::uint64_t, Nodes> nodes_of;  // By key
    std::vector<Part> parts;
    std::vector<std::uint32_t> free;
    std::set<std::uint64_t> changed;  // Keys of nodes that have changed
    std::set<std::uint32_t> ended;    // Parts of these
  };

  static void Enter(Table& table, std::uint32_t node, Row row);
  static void Leave(Table& table, std::uint32_t node);
  static Nodes TakePart(Table& table, std::uint64_t key, std::uint32_t part);
  void Judge(Table& table);
  void Judge(const Rule& rule, const Nodes& nodes, Part& part);

  const Roster& roster_;
  Ledger& ledger_;
  std::vector<Table> tables_;
};

}  // namespace fabric::rules
