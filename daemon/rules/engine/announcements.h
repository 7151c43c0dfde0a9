// What switches announce, held against their hosts, over a fleet that changes. Part of the engine.
//
// Of each node is kept what its links say, so that a change of one costs its own links, and those
// that deviate: only these are gone through again.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/ledger.h"
#include "daemon/rules/engine/roster.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {

class Announcements {
 public:
  // Of all rules that have an announcement. Both are borrowed.
  Announcements(const Roster& roster, Ledger& ledger);

  void Put(std::uint32_t node);
  void Remove(std::uint32_t node);
  // What the changes since the last call make of the links.
  void Judge();

 private:
  // What the links of a node say.
  struct Row {
    std::uint64_t digest = 0;  // 0: nothing
    std::uint32_t passes = 0;
    bool deviates = false;
    std::vector<std::uint32_t> switches;               // Of each link that is judged
    std::vector<std::optional<std::uint64_t>> agreed;  // By rail
  };
  struct Table {
    const Rule* rule = nullptr;
    std::vector<Row> rows;             // By number of node
    std::vector<std::uint64_t> links;  // That are judged, by switch
    std::vector<std::map<std::uint64_t, std::uint64_t>>
        agreed;                         // How many ports, by rail and value
    std::set<std::uint32_t> deviating;  // Nodes
    std::uint64_t passes = 0;
    bool changed = false;
    Ids ids;
    std::uint64_t told = 0;  // Passes
  };

  void FindSwitches(const fleet::NodeView& node);
  Row RowOf(const Table& table, const fleet::NodeView& node) const;
  static void Count(Table& table, const Row& row, bool come);
  static bool IsOdd(const Table& table, const fleet::PortView& port);
  void Judge(Table& table);

  const Roster& roster_;
  Ledger& ledger_;
  std::vector<Table> tables_;
  std::unordered_map<std::string, std::uint32_t> switches_;  // Numbers, by chassis
  std::vector<std::uint32_t> heard_;  // Of a node that has changed: its switches, by port
};

}  // namespace fabric::rules
