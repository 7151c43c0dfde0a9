#include "daemon/rules/parts.h"

#include <algorithm>
#include <utility>

namespace fabric::rules {

Parts::Parts(const Roster& roster, Ledger& ledger) : roster_(roster), ledger_(ledger) {
  for (const Rule* rule : AllRules())
    if (rule->evaluate_part != nullptr) tables_.push_back({.rule = rule});
}

void Parts::Put(std::uint32_t node) {
  const fleet::NodeView& view = roster_.at(node);
  for (Table& table : tables_) {
    if (table.rows.size() <= node) table.rows.resize(node + 1);
    const std::uint64_t digest = table.rule->reads(view);
    if (table.rows[node].digest == digest) continue;
    Leave(table, node);
    if (digest != 0) Enter(table, node, {.digest = digest, .keys = table.rule->joined_by(view)});
  }
}

void Parts::Remove(std::uint32_t node) {
  for (Table& table : tables_)
    if (table.rows.size() > node) Leave(table, node);
}

void Parts::Enter(Table& table, std::uint32_t node, Row row) {
  for (const std::uint64_t key : row.keys) {
    table.nodes_of[key].push_back(node);
    table.changed.insert(key);
  }
  table.rows[node] = std::move(row);
}

void Parts::Leave(Table& table, std::uint32_t node) {
  const Row row = std::exchange(table.rows[node], {});
  if (row.part != kNone) table.ended.insert(row.part);
  for (const std::uint64_t key : row.keys) {
    const auto nodes = table.nodes_of.find(key);
    nodes->second.erase(std::find(nodes->second.begin(), nodes->second.end(), node));
    if (nodes->second.empty()) table.nodes_of.erase(nodes);
    table.changed.insert(key);
  }
}

// All who hang together with those that have the key. They leave the parts that they were in: what
// was one part with a node before it changed is reached by one of its keys of then or of now.
Parts::Nodes Parts::TakePart(Table& table, std::uint64_t key, std::uint32_t part) {
  Nodes found;
  std::set<std::uint64_t> known = {key};
  std::vector<std::uint64_t> next = {key};
  while (!next.empty()) {
    const auto nodes = table.nodes_of.find(next.back());
    next.pop_back();
    if (nodes == table.nodes_of.end()) continue;
    for (const std::uint32_t node : nodes->second) {
      Row& row = table.rows[node];
      if (row.part == part) continue;
      if (row.part != kNone) table.ended.insert(row.part);
      row.part = part;
      found.push_back(node);
      for (const std::uint64_t other : row.keys)
        if (known.insert(other).second) next.push_back(other);
    }
  }
  for (const std::uint64_t seen : known) table.changed.erase(seen);
  return found;
}

void Parts::Judge() {
  for (Table& table : tables_)
    if (!table.changed.empty() || !table.ended.empty()) Judge(table);
}

void Parts::Judge(Table& table) {
  while (!table.changed.empty()) {
    auto number = static_cast<std::uint32_t>(table.parts.size());
    if (table.free.empty()) {
      table.parts.emplace_back();
    } else {
      number = table.free.back();
      table.free.pop_back();
    }
    const Nodes nodes = TakePart(table, *table.changed.begin(), number);
    if (nodes.empty())
      table.free.push_back(number);
    else
      Judge(*table.rule, nodes, table.parts[number]);
  }
  for (const std::uint32_t number : std::exchange(table.ended, {})) {
    ledger_.Drop(table.parts[number].ids);
    ledger_.CountPasses(table.parts[number].passes, 0);
    table.free.push_back(number);
  }
}

void Parts::Judge(const Rule& rule, const Nodes& nodes, Part& part) {
  std::vector<fleet::NodeView> views;
  views.reserve(nodes.size());
  for (const std::uint32_t node : nodes) views.push_back(roster_.at(node));
  Verdicts out(rule.id, rule.severity);
  rule.evaluate_part(fleet::FleetView(std::move(views)), out);
  ledger_.CountPasses(part.passes, out.passes());
  ledger_.Replace(part.ids, out.findings());
}

}  // namespace fabric::rules
