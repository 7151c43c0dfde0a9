#include "daemon/rules/engine.h"

#include <iterator>
#include <optional>
#include <utility>

namespace fabric::rules {
namespace {

void Move(std::vector<v1::Finding>& from, std::vector<v1::Finding>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Engine::Engine(profile::Profile profile)
    : profile_(std::move(profile)),
      groups_(roster_, ledger_),
      holders_(roster_, ledger_),
      announcements_(roster_, ledger_),
      parts_(roster_, ledger_) {
  for (const Rule* rule : AllRules()) {
    if (rule->evaluate_node != nullptr) node_rules_.push_back(rule);
    if (rule->evaluate_alone != nullptr) alone_rules_.push_back(rule);
  }
}

void Engine::Put(const fleet::NodeRecord& record) {
  Put(fleet::ViewOf(record, profile_, expectations_));
}

void Engine::Put(fleet::NodeView view) {
  const std::uint32_t node = roster_.Put(std::move(view));
  const fleet::NodeView& seen = roster_.at(node);
  std::vector<v1::Finding> found;
  std::uint64_t passes = 0;
  for (const Rule* rule : node_rules_) {
    Verdicts out(rule->id, rule->severity);
    rule->evaluate_node(seen, out);
    passes += out.passes();
    Move(out.findings(), found);
  }
  for (const NodeRule& rule : own_) {
    Verdicts out(rule.id, rule.severity);
    rule.evaluate(seen, out);
    passes += out.passes();
    Move(out.findings(), found);
  }
  groups_.Put(node, found, passes);
  holders_.Put(node);
  announcements_.Put(node);
  parts_.Put(node);
  grouping_.Put(seen);
  if (nodes_.size() <= node) nodes_.resize(node + 1);
  ledger_.Replace(nodes_[node].ids, found);
  ledger_.CountPasses(nodes_[node].passes, passes);
  changed_ = true;
}

void Engine::Remove(const std::string& name) {
  const std::optional<std::uint32_t> node = roster_.Remove(name);
  if (!node) return;
  groups_.Remove(*node);
  holders_.Remove(*node);
  announcements_.Remove(*node);
  parts_.Remove(*node);
  grouping_.Remove(name);
  ledger_.Drop(nodes_[*node].ids);
  ledger_.CountPasses(nodes_[*node].passes, 0);
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
  std::vector<v1::Finding> found;
  std::uint64_t passes = 0;
  for (const Rule* rule : alone_rules_) {
    if (roster_.size() != 1) break;
    Verdicts out(rule->id, rule->severity);
    rule->evaluate_alone(roster_.at(roster_.numbers().begin()->second), out);
    passes += out.passes();
    Move(out.findings(), found);
  }
  ledger_.Replace(alone_.ids, found);
  ledger_.CountPasses(alone_.passes, passes);
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
