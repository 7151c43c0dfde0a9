#include "daemon/rules/engine/engine.h"

#include <utility>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {
namespace {

// Rules that run when counters change, or all others.
std::vector<const Rule*> RulesOf(bool counters) {
  std::vector<const Rule*> rules;
  for (const Rule* rule : AllRules())
    if (rule->needs.contains(Input::kCounters) == counters) rules.push_back(rule);
  return rules;
}

// Of several rules.
Verdicts NoVerdicts() {
  return {{}, v1::SEVERITY_UNSPECIFIED};
}

}  // namespace

Engine::Engine(profile::Profile profile)
    : profile_(std::move(profile)),
      missing_settings_(RulesOf(false)),
      missing_counters_(RulesOf(true)),
      peers_(nodes_, findings_),
      uniqueness_(nodes_, findings_),
      lldp_(nodes_, findings_),
      cabling_(nodes_, findings_) {
  for (const Rule* rule : AllRules()) {
    if (rule->evaluate_unjudged != nullptr) unjudged_rules_.push_back(rule);
    if (rule->evaluate_node == nullptr) continue;
    const NumberedRule numbered{.rule = rule, .number = NumberOf(*rule)};
    if (rule->single_node_only)
      single_node_rules_.push_back(numbered);
    else if (rule->needs.contains(Input::kCounters))
      counter_rules_.push_back(numbered);
    else
      settings_rules_.push_back(numbered);
  }
}

void Engine::Put(const fleet::NodeRecord& record) {
  const std::uint32_t node = AddNode(record);
  const bool only_counters = record.version != 0 && outcomes_[node].version == record.version &&
                             outcomes_[node].record == &record;
  if (only_counters) return PutCounters(node);
  fleet::Fill(nodes_.View(node), record, profile_, expectations_);
  PutAll(node);
}

void Engine::Put(fleet::NodeView view) {
  const std::uint32_t node = AddNode(*view.node);
  nodes_.View(node) = std::move(view);
  PutAll(node);
}

std::uint32_t Engine::AddNode(const fleet::NodeRecord& record) {
  if (const auto back = unjudged_.find(record.name); back != unjudged_.end()) {
    findings_.Drop(back->second);
    unjudged_.erase(back);
  }
  const std::uint32_t node = nodes_.Add(record.name);
  if (outcomes_.size() <= node) outcomes_.resize(node + 1);
  return node;
}

void Engine::PutAll(std::uint32_t node) {
  const fleet::NodeView& view = nodes_.at(node);
  JudgeSettings(node);
  uniqueness_.Put(node);
  lldp_.Put(node);
  cabling_.Put(node);
  aggregator_.Put(view);
  outcomes_[node].record = view.node;
  outcomes_[node].version = view.node->version;
  JudgeCounters(node);
  changed_ = true;
}

void Engine::PutCounters(std::uint32_t node) {
  fleet::UpdateCounters(nodes_.View(node));
  JudgeCounters(node);
  changed_ = true;
}

// Runs the rules on a node, and finds what they miss there. Returns those that pass.
RuleSet Engine::Run(const std::vector<NumberedRule>& rules, const fleet::NodeView& node,
                    MissingInputs& missing, Verdicts& all) {
  RuleSet passing;
  missing.Find(node);
  for (const auto& [rule, number] : rules) {
    Verdicts out(rule->id, rule->severity);
    rule->evaluate_node(node, out);
    if (missing.LacksNodeField(*rule)) out.DropPasses();
    passing[number] = out.passes() > 0;
    Append(out, all);
  }
  return passing;
}

void Engine::JudgeSettings(std::uint32_t node) {
  Verdicts all = NoVerdicts();
  RuleSet passing = Run(settings_rules_, nodes_.at(node), missing_settings_, all);
  peers_.Put(node, missing_settings_, all, passing);
  missing_settings_.Report(all);
  coverage_.Put(node, nodes_.at(node), passing);
  findings_.Replace(outcomes_[node].settings, all);
}

void Engine::JudgeCounters(std::uint32_t node) {
  Verdicts all = NoVerdicts();
  const fleet::NodeView& view = nodes_.at(node);
  coverage_.PutCounters(node, view, Run(counter_rules_, view, missing_counters_, all));
  missing_counters_.Report(all);
  for (const NodeRule& rule : operator_rules_) {
    Verdicts out(rule.id, rule.severity);
    rule.evaluate(view, out);
    Append(out, all);
  }
  findings_.Replace(outcomes_[node].counters, all);
}

void Engine::PutUnjudged(const fleet::NodeRecord& record) {
  Leave(record.name);
  Verdicts all = NoVerdicts();
  for (const Rule* rule : unjudged_rules_) {
    Verdicts out(rule->id, rule->severity);
    rule->evaluate_unjudged(record, out);
    Append(out, all);
  }
  findings_.Replace(unjudged_[record.name], all);
  const std::uint32_t node = nodes_.Add(record.name);
  if (outcomes_.size() <= node) outcomes_.resize(node + 1);
  fleet::Fill(nodes_.View(node), record, profile_, expectations_);
  peers_.PutSilent(node);
  changed_ = true;
}

void Engine::PutReported(std::vector<v1::Finding> findings) {
  findings_.Replace(reported_, findings);
  changed_ = true;
}

void Engine::PutSubnets(std::vector<v1::Finding> findings, std::uint64_t passes) {
  findings_.Replace(subnets_.ids, findings);
  findings_.CountPasses(subnets_.passes, passes);
  changed_ = true;
}

void Engine::Remove(const std::string& name) {
  Leave(name);
  const auto lost = unjudged_.find(name);
  if (lost == unjudged_.end()) return;
  findings_.Drop(lost->second);
  unjudged_.erase(lost);
  changed_ = true;
}

void Engine::Leave(const std::string& name) {
  const std::optional<std::uint32_t> node = nodes_.Remove(name);
  if (!node) return;
  peers_.Remove(*node);
  uniqueness_.Remove(*node);
  lldp_.Remove(*node);
  cabling_.Remove(*node);
  coverage_.Remove(*node);
  aggregator_.Remove(name);
  findings_.Drop(outcomes_[*node].settings);
  findings_.Drop(outcomes_[*node].counters);
  outcomes_[*node] = {};
  changed_ = true;
}

void Engine::Judge() {
  WorkLeft unlimited(kWorkUnlimited);
  (void)Judge(unlimited);
  (void)Aggregate(unlimited);
}

// True: all is judged.
bool Engine::Judge(WorkLeft& work) {
  if (!changed_) return true;
  if (!peers_.Judge(work) || work.over()) return false;
  if (!uniqueness_.Judge(work) || work.over()) return false;
  lldp_.Judge();
  cabling_.Judge();
  JudgeSingleNode();
  findings_.BeginTake();
  changed_ = settled_ = false;
  return true;
}

// True: the aggregator has all that was judged.
bool Engine::Aggregate(WorkLeft& work) {
  constexpr std::size_t kFindings = 16;
  if (settled_) return true;
  // What an earlier part has taken
  if (aggregator_.settling() && !aggregator_.Settle(work)) return false;
  while (findings_.taking()) {
    if (work.over()) return false;
    work.Spend(kFindings * kWorkOfFinding / 2);
    aggregator_.TakeSome(findings_.TakeSome(kFindings));
  }
  aggregator_.TakeSome(findings_.TakeSome(0));  // The counts, also without a changed finding
  settled_ = aggregator_.Settle(work);
  return settled_;
}

void Engine::JudgeSingleNode() {
  Verdicts all = NoVerdicts();
  single_node_passing_.reset();
  for (const auto& [rule, number] : single_node_rules_) {
    if (nodes_.size() != 1 || !unjudged_.empty()) break;
    Verdicts out(rule->id, rule->severity);
    rule->evaluate_node(nodes_.at(nodes_.numbers().begin()->second), out);
    single_node_passing_[number] = out.passes() > 0;
    Append(out, all);
  }
  findings_.Replace(single_node_, all);
}

Delta Engine::Take() {
  Judge();
  collecting_ = false;
  return aggregator_.News();
}

std::optional<Delta> Engine::TakePart(std::uint64_t work) {
  WorkLeft left(work);
  if (!collecting_) collecting_ = Judge(left);
  if (!collecting_ || !Aggregate(left) || !aggregator_.CollectNews(left)) return {};
  collecting_ = false;
  return aggregator_.News();
}

Evaluation Copy(const EvaluationView& view) {
  Evaluation evaluation;
  evaluation.counts = view.counts;
  evaluation.findings = view.findings.Copy();
  evaluation.coverage = Summarize(view.facts, evaluation.findings);
  return evaluation;
}

Evaluation Engine::All() {
  return Copy(View());
}

EvaluationView Engine::View() {
  Judge();
  CoverageFacts facts = coverage_.OfAll();
  peers_.AddPassing(facts.judged);
  uniqueness_.AddPassing(facts.judged);
  lldp_.AddPassing(facts.judged);
  cabling_.AddPassing(facts.judged);
  facts.judged |= single_node_passing_;
  ReadExpectations(facts);
  return {
      .counts = aggregator_.counts(), .findings = aggregator_.View(), .facts = std::move(facts)};
}

bool Engine::Read(NodesView& view) const {
  constexpr int kNodesOfRead = 512;
  auto at = view.nodes.upper_bound(view.last);
  for (int left = kNodesOfRead; at != view.nodes.end() && left > 0; ++at, --left) {
    view.last = *at;
    const auto node = nodes_.numbers().find(*at);
    if (node == nodes_.numbers().end() || unjudged_.contains(*at)) continue;
    view.judged = true;
    coverage_.AddOf(node->second, view.facts);
    peers_.AddJudging(node->second, view.facts.judged);
    uniqueness_.AddJudging(node->second, view.facts.judged);
    lldp_.AddJudging(node->second, view.facts.judged);
    cabling_.AddJudging(node->second, view.facts.judged);
  }
  view.facts.judged |= single_node_passing_;
  ReadExpectations(view.facts);
  return at != view.nodes.end();
}

std::optional<v1::Coverage> CoverageOf(const NodesView& view) {
  if (!view.judged) return {};
  return Summarize(view.facts, view.findings->About(view.nodes), view.nodes);
}

std::optional<v1::Coverage> Engine::CoverageOf(const std::set<std::string>& nodes) const {
  NodesView view{.nodes = nodes, .last = {}, .facts = {}};
  while (Read(view)) {
  }
  if (!view.judged) return {};
  return Summarize(std::move(view.facts), aggregator_.About(nodes), nodes);
}

Evaluation Evaluate(const fleet::FleetView& fleet, std::span<const NodeRule> own) {
  Engine engine;
  for (const NodeRule& rule : own) engine.AddNodeRule(rule);
  for (const fleet::NodeView& node : fleet.nodes()) engine.Put(node);
  return engine.All();
}

}  // namespace fabric::rules
