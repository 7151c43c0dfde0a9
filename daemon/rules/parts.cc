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
    std::vector<std::uint64_t> facts = table.rule->reads(view);
    if (table.rows[node].facts == facts) continue;
    Leave(table, node);
    if (!facts.empty()) Enter(table, node, std::move(facts));
  }
}

void Parts::Remove(std::uint32_t node) {
  for (Table& table : tables_)
    if (table.rows.size() > node) Leave(table, node);
}

std::uint32_t Parts::NumberOf(Table& table, std::uint64_t key) {
  const auto [known, added] = table.numbers.try_emplace(key);
  if (added) {
    known->second = table.keys.Take();
    table.keys[known->second].key = key;
  }
  return known->second;
}

void Parts::Change(Table& table, std::uint32_t key) {
  if (!std::exchange(table.keys[key].changed, true)) table.changed.push_back(key);
}

void Parts::End(Table& table, Row& row) {
  const std::uint32_t part = std::exchange(row.part, kNone);
  if (part != kNone && !std::exchange(table.parts[part].ended, true)) table.ended.push_back(part);
}

void Parts::Enter(Table& table, std::uint32_t node, std::vector<std::uint64_t> facts) {
  Row& row = table.rows[node];
  row.facts = std::move(facts);
  for (const std::uint64_t key : table.rule->joined_by(row.facts)) {
    const std::uint32_t number = NumberOf(table, key);
    row.keys.push_back(number);
    table.keys[number].nodes.push_back(node);
    Change(table, number);
  }
}

// Keys that nobody has are forgotten when the parts are judged.
void Parts::Leave(Table& table, std::uint32_t node) {
  Row& row = table.rows[node];
  End(table, row);
  for (const std::uint32_t key : row.keys) {
    Nodes& nodes = table.keys[key].nodes;
    nodes.erase(std::find(nodes.begin(), nodes.end(), node));
    Change(table, key);
  }
  row = {};
}

// All who hang together with those that have the key. They leave the parts that they were in: what
// was one part with a node before it changed is reached by one of its keys of then or of now.
Parts::Nodes Parts::TakePart(Table& table, std::uint32_t key, std::uint32_t part) {
  Nodes found;
  std::vector<std::uint32_t> next = {key};
  table.keys[key].seen = ++table.now;
  while (!next.empty()) {
    Key& at = table.keys[next.back()];
    next.pop_back();
    at.changed = false;
    for (const std::uint32_t node : at.nodes) {
      Row& row = table.rows[node];
      if (row.part == part) continue;
      End(table, row);
      row.part = part;
      found.push_back(node);
      for (const std::uint32_t other : row.keys)
        if (std::exchange(table.keys[other].seen, table.now) != table.now) next.push_back(other);
    }
  }
  return found;
}

void Parts::Judge() {
  for (Table& table : tables_)
    if (!table.changed.empty() || !table.ended.empty()) Judge(table);
}

void Parts::Judge(Table& table) {
  for (const std::uint32_t key : std::exchange(table.changed, {})) {
    if (!table.keys[key].changed) continue;  // Reached from one before it
    if (table.keys[key].nodes.empty()) {
      table.numbers.erase(table.keys[key].key);
      table.keys.Free(key);
      continue;
    }
    const std::uint32_t part = table.parts.Take();
    const Nodes nodes = TakePart(table, key, part);
    Judge(table, nodes, table.parts[part]);
  }
  for (const std::uint32_t number : std::exchange(table.ended, {})) {
    Part& part = table.parts[number];
    ledger_.Drop(part.ids);
    ledger_.CountPasses(part.passes, 0);
    table.parts.Free(number);
  }
}

void Parts::Judge(const Table& table, const Nodes& nodes, Part& part) {
  std::vector<PartNode> all;
  all.reserve(nodes.size());
  for (const std::uint32_t node : nodes)
    all.push_back({.view = &roster_.at(node), .facts = table.rows[node].facts});
  Verdicts out(table.rule->id, table.rule->severity);
  table.rule->evaluate_part(all, out);
  ledger_.CountPasses(part.passes, out.passes());
  ledger_.Replace(part.ids, out.findings());
}

}  // namespace fabric::rules
