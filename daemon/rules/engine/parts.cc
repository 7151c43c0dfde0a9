#include "daemon/rules/engine/parts.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/engine/digest.h"

namespace fabric::rules {
Parts::Parts(const Roster& roster, Ledger& ledger) : roster_(roster), ledger_(ledger) {
  for (const Rule* rule : AllRules())
    if (rule->evaluate_part != nullptr) tables_.push_back({.rule = rule});
}

std::size_t Parts::HashFacts::operator()(const std::vector<std::uint64_t>& facts) const {
  Digest digest;
  for (const std::uint64_t fact : facts) digest.Add(fact);
  return digest.value();
}

bool Parts::IsAsBefore(const Table& table, const Row& row, const PartFacts& read) {
  if (row.alike == kNone) return read.facts.empty();
  return row.texts == read.texts && *table.alike[row.alike].facts == read.facts;
}

void Parts::Put(std::uint32_t node) {
  const fleet::NodeView& view = roster_.at(node);
  for (Table& table : tables_) {
    if (table.rows.size() <= node) table.rows.resize(node + 1);
    PartFacts read = table.rule->reads(view);
    if (IsAsBefore(table, table.rows[node], read)) continue;
    Leave(table, node);
    if (!read.facts.empty()) Enter(table, node, std::move(read));
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

void Parts::Change(Table& table, const Alike& alike) {
  for (const std::uint32_t key : alike.keys)
    if (!std::exchange(table.keys[key].changed, true)) table.changed.push_back(key);
}

void Parts::End(Table& table, Alike& alike) {
  const std::uint32_t part = std::exchange(alike.part, kNone);
  if (part != kNone && !std::exchange(table.parts[part].ended, true)) table.ended.push_back(part);
}

std::uint32_t Parts::AlikeOf(Table& table, std::vector<std::uint64_t> facts) {
  const auto [known, added] = table.alike_by_facts.try_emplace(std::move(facts));
  if (!added) return known->second;
  known->second = table.alike.Take();
  Alike& alike = table.alike[known->second];
  alike.facts = &known->first;
  for (const std::uint64_t key : table.rule->joined_by(known->first)) {
    alike.keys.push_back(NumberOf(table, key));
    table.keys[alike.keys.back()].alike.push_back(known->second);
  }
  return known->second;
}

void Parts::Enter(Table& table, std::uint32_t node, PartFacts read) {
  const std::uint32_t number = AlikeOf(table, std::move(read.facts));
  table.rows[node] = {.alike = number, .texts = read.texts};
  Alike& alike = table.alike[number];
  alike.nodes.push_back(node);
  Change(table, alike);
}

void Parts::Leave(Table& table, std::uint32_t node) {
  const Row row = std::exchange(table.rows[node], {});
  if (row.alike == kNone) return;
  Alike& alike = table.alike[row.alike];
  alike.nodes.erase(std::find(alike.nodes.begin(), alike.nodes.end(), node));
  Change(table, alike);
  if (alike.nodes.empty()) Forget(table, row.alike);
}

// Keys that nobody has are forgotten when the parts are judged.
void Parts::Forget(Table& table, std::uint32_t number) {
  Alike& alike = table.alike[number];
  End(table, alike);
  for (const std::uint32_t key : alike.keys) {
    std::vector<std::uint32_t>& with = table.keys[key].alike;
    with.erase(std::find(with.begin(), with.end(), number));
  }
  table.alike_by_facts.erase(table.alike_by_facts.find(*alike.facts));
  table.alike.Free(number);
}

// All who hang together with those that have the key. They leave the parts that they were in: what
// was one part with a node before it changed is reached by one of its keys of then or of now.
std::vector<std::uint32_t> Parts::TakePart(Table& table, std::uint32_t key, std::uint32_t part) {
  std::vector<std::uint32_t> found;
  std::vector<std::uint32_t> next = {key};
  table.keys[key].seen = ++table.now;
  while (!next.empty()) {
    Key& at = table.keys[next.back()];
    next.pop_back();
    at.changed = false;
    for (const std::uint32_t number : at.alike) {
      Alike& alike = table.alike[number];
      if (alike.part == part) continue;
      End(table, alike);
      alike.part = part;
      found.push_back(number);
      for (const std::uint32_t other : alike.keys)
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
    if (table.keys[key].alike.empty()) {
      table.numbers.erase(table.keys[key].key);
      table.keys.Free(key);
      continue;
    }
    const std::uint32_t part = table.parts.Take();
    const std::vector<std::uint32_t> found = TakePart(table, key, part);
    Judge(table, found, table.parts[part]);
  }
  for (const std::uint32_t number : std::exchange(table.ended, {})) {
    Part& part = table.parts[number];
    ledger_.Drop(part.ids);
    ledger_.CountPasses(part.passes, 0);
    table.parts.Free(number);
  }
}

void Parts::Judge(const Table& table, const std::vector<std::uint32_t>& found, Part& part) {
  views_.clear();
  for (const std::uint32_t number : found)
    for (const std::uint32_t node : table.alike[number].nodes) views_.push_back(&roster_.at(node));
  std::vector<PartNodes> all;
  all.reserve(found.size());
  const fleet::NodeView* const* nodes = views_.data();
  for (const std::uint32_t number : found) {
    const Alike& alike = table.alike[number];
    all.push_back({.facts = *alike.facts, .nodes = {nodes, alike.nodes.size()}});
    nodes += alike.nodes.size();
  }
  Verdicts out(table.rule->id, table.rule->severity);
  table.rule->evaluate_part(all, out);
  ledger_.CountPasses(part.passes, out.passes());
  ledger_.Replace(part.ids, out.findings());
}

}  // namespace fabric::rules
