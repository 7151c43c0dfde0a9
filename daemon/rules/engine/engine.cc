#include "daemon/rules/engine/engine.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {
namespace {

bool ReadsCounters(const Rule& rule) {
  return rule.needs.find("counters") != std::string_view::npos;
}

}  // namespace

template <class AnyRule, class Evaluate>
void Engine::Found::Take(const AnyRule& rule, const Evaluate& evaluate,
                         const fleet::NodeView& node) {
  Verdicts out(rule.id, rule.severity);
  evaluate(node, out);
  passes += out.passes();
  std::move(out.findings().begin(), out.findings().end(), std::back_inserter(findings));
}

Engine::Engine(profile::Profile profile)
    : profile_(std::move(profile)),
      groups_(roster_, ledger_),
      holders_(roster_, ledger_),
      announcements_(roster_, ledger_),
      parts_(roster_, ledger_) {
  for (const Rule* rule : AllRules()) {
    if (rule->evaluate_node != nullptr)
      (ReadsCounters(*rule) ? counter_rules_ : node_rules_).push_back(rule);
    if (rule->evaluate_alone != nullptr) alone_rules_.push_back(rule);
  }
}

void Engine::Put(const fleet::NodeRecord& record) {
  const std::uint32_t node = NumberOf(record);
  const bool as_before = record.version != 0 && nodes_[node].version == record.version &&
                         nodes_[node].record == &record;
  if (as_before) return PutCounters(node);
  fleet::Fill(roster_.View(node), record, profile_, expectations_);
  PutAll(node);
}

void Engine::Put(fleet::NodeView view) {
  const std::uint32_t node = NumberOf(*view.node);
  roster_.View(node) = std::move(view);
  PutAll(node);
}

std::uint32_t Engine::NumberOf(const fleet::NodeRecord& record) {
  const std::uint32_t node = roster_.Add(record.name);
  if (nodes_.size() <= node) nodes_.resize(node + 1);
  return node;
}

void Engine::PutAll(std::uint32_t node) {
  const fleet::NodeView& seen = roster_.at(node);
  groups_.Fetch(node);
  Found found;
  for (const Rule* rule : node_rules_) found.Take(*rule, rule->evaluate_node, seen);
  groups_.Put(node, found.findings, found.passes);
  holders_.Put(node);
  announcements_.Put(node);
  parts_.Put(node);
  grouping_.Put(seen);
  nodes_[node].record = seen.node;
  nodes_[node].version = seen.node->version;
  Note(nodes_[node].of_settings, std::move(found));
  JudgeCounters(node);
  changed_ = true;
}

// Nothing else reads counters.
void Engine::PutCounters(std::uint32_t node) {
  fleet::UpdateCounters(roster_.View(node));
  JudgeCounters(node);
  changed_ = true;
}

void Engine::JudgeCounters(std::uint32_t node) {
  const fleet::NodeView& seen = roster_.at(node);
  Found found;
  for (const Rule* rule : counter_rules_) found.Take(*rule, rule->evaluate_node, seen);
  for (const NodeRule& rule : own_) found.Take(rule, rule.evaluate, seen);
  Note(nodes_[node].of_counters, std::move(found));
}

void Engine::Note(Own& own, Found found) {
  ledger_.Replace(own.ids, found.findings);
  ledger_.CountPasses(own.passes, found.passes);
}

void Engine::Remove(const std::string& name) {
  const std::optional<std::uint32_t> node = roster_.Remove(name);
  if (!node) return;
  groups_.Remove(*node);
  holders_.Remove(*node);
  announcements_.Remove(*node);
  parts_.Remove(*node);
  grouping_.Remove(name);
  Note(nodes_[*node].of_settings, {});
  Note(nodes_[*node].of_counters, {});
  nodes_[*node] = {};
  changed_ = true;
}

void Engine::Judge() {
  if (!std::exchange(changed_, false)) return;
  groups_.Judge();
  holders_.Judge();
  announcements_.Judge();
  parts_.Judge();
  JudgeAlone();
  grouping_.Take(ledger_.Take());
}

void Engine::JudgeAlone() {
  Found found;
  for (const Rule* rule : alone_rules_)
    if (roster_.size() == 1)
      found.Take(*rule, rule->evaluate_alone, roster_.at(roster_.numbers().begin()->second));
  Note(alone_, std::move(found));
}

Delta Engine::Take() {
  Judge();
  return grouping_.News();
}

Evaluation Engine::All() {
  Judge();
  return grouping_.All();
}

Evaluation Evaluate(const fleet::FleetView& fleet, std::span<const NodeRule> own) {
  Engine engine;
  for (const NodeRule& rule : own) engine.AddNodeRule(rule);
  for (const fleet::NodeView& node : fleet.nodes()) engine.Put(node);
  return engine.All();
}

}  // namespace fabric::rules
