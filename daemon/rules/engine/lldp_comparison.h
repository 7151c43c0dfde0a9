// LLDP rules that compare each link with its host, over a changing fleet. Part of the engine.
//
// Keeps a summary of the links of each node, so that a change of a node costs its own links. Only
// nodes with deviating links are searched for findings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/rules/engine/coverage.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/rule.h"
#include "daemon/rules/switches/switches.h"

namespace fabric::rules {

class LldpComparison {
 public:
  // For all rules with LldpRule::judge. Borrows both.
  LldpComparison(const NodeIndex& nodes, FindingTable& findings);

  // The node is new or has changed.
  void Put(std::uint32_t node);
  void Remove(std::uint32_t node);
  // Updates the findings after these changes.
  void Judge();
  // Adds the rules with a pass.
  void AddPassing(RuleSet& rules) const;
  // Adds the rules that judge the node or its ports.
  void AddJudging(std::uint32_t node, RuleSet& rules) const;
  // Number of switches that have a number: those with a judged link.
  std::size_t switches() const { return switches_.size(); }

 private:
  // The links of a node.
  struct Row {
    std::uint64_t digest = 0;  // 0: no node
    std::uint32_t passes = 0;
    bool deviates = false;
    std::vector<std::uint32_t> switches;               // Of each link that is judged
    std::vector<std::optional<std::uint64_t>> agreed;  // LldpRule::agreed by rail
  };
  struct Table {
    const Rule* rule = nullptr;
    std::size_t number = 0;                                      // Of the rule
    std::vector<Row> rows;                                       // By number of node
    std::vector<std::uint64_t> links;                            // Judged links by switch
    std::vector<std::map<std::uint64_t, std::uint64_t>> agreed;  // Ports by rail and value
    std::set<std::uint32_t> deviating;                           // Nodes
    std::uint64_t passes = 0;
    bool changed = false;
    Outcome outcome;
  };

  // Switches by number. The number of a switch without links is reused.
  struct Switch {
    std::string chassis;
    std::uint64_t links = 0;  // Judged links, in all tables
  };

  std::uint32_t NumberOfSwitch(const std::string& chassis);
  void FindSwitches(const fleet::NodeView& node);
  void ForgetSwitches();
  Row RowOf(const Table& table, const fleet::NodeView& node) const;
  void Add(Table& table, const Row& row);
  void Subtract(Table& table, const Row& row);
  static bool DeviatesFromRail(const Table& table, const fleet::PortView& port);
  Deviations DeviationsOf(const Table& table) const;

  const NodeIndex& nodes_;
  FindingTable& findings_;
  std::vector<Table> tables_;
  std::unordered_map<std::string, std::uint32_t> switches_;  // Numbers by chassis
  std::vector<Switch> by_number_;
  std::vector<std::uint32_t> free_;            // Numbers
  std::vector<std::uint32_t> unused_;          // Perhaps without links now
  std::vector<std::uint32_t> switch_of_port_;  // Of the node that is put
};

}  // namespace fabric::rules
