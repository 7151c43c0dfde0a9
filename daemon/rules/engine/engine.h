// Incremental evaluation of all rules over a changing fleet: which findings a change of a node
// opens, changes and resolves. Not thread-safe; has no clock. Design: docs/design/engine.md.
//
// The result depends only on the nodes as they are now, not on the order of changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/fleet/fleet.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/profile/profile.h"
#include "daemon/rules/causes/finding_aggregator.h"
#include "daemon/rules/engine/cabling_index.h"
#include "daemon/rules/engine/coverage.h"
#include "daemon/rules/engine/finding_table.h"
#include "daemon/rules/engine/lldp_comparison.h"
#include "daemon/rules/engine/missing_inputs.h"
#include "daemon/rules/engine/node_index.h"
#include "daemon/rules/engine/peer_comparison.h"
#include "daemon/rules/engine/uniqueness_index.h"
#include "daemon/rules/rule.h"

namespace fabric::rules {

// All verdicts at one time, without copies of the findings. Other threads may read it while the
// engine changes; it must end where the engine is used, and before it.
struct EvaluationView {
  v1::VerdictCounts counts;
  FindingsView findings;
  CoverageFacts facts;
};
// Takes long with thousands of findings.
Evaluation Copy(const EvaluationView& view);

// The same about some nodes, which are read in parts: Engine::Read(), then Engine::Found().
struct NodesView {
  std::set<std::string> nodes;
  std::string last;     // That was read
  bool judged = false;  // At least one of them
  CoverageFacts facts;
  std::optional<FindingsView> findings = {};
};
// What the verdicts cover. No value when none of the nodes is judged. Takes long with thousands of
// nodes or findings.
std::optional<v1::Coverage> CoverageOf(const NodesView& view);

class Engine {
 public:
  explicit Engine(profile::Profile profile = {});
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Adds an operator's rule to AllRules(). Call it before the first node.
  void AddNodeRule(NodeRule rule) { operator_rules_.push_back(std::move(rule)); }

  // Adds or updates a node. The engine borrows the record until Remove(). The record may change in
  // place when Put() follows before any other call. When its version has not changed, only rules
  // that need counters run.
  void Put(const fleet::NodeRecord& record);
  // The same with a view that has its expectations. The engine borrows what the view refers to.
  void Put(fleet::NodeView view);
  // The node is lost, or its settings are too old: all rules skip it, except those that judge this.
  // The engine borrows the record until Remove().
  void PutUnjudged(const fleet::NodeRecord& record);
  // Findings of the rules with `reported`, in place of those of the last call.
  void PutReported(std::vector<v1::Finding> findings);
  // Findings and passes of the checks of InfiniBand subnets, in place of those of the last call.
  void PutSubnets(std::vector<v1::Finding> findings, std::uint64_t passes);
  // Removes a node. Ignores an unknown one. Reads only the name of the record.
  void Remove(const std::string& node);

  // Changes since the last call.
  Delta Take();
  // The same in parts, so that others have their turn between them: call it until it returns a
  // value. Nodes may change between parts as between calls of Take(). Once it is collecting(), it
  // has judged: what changes then is in the next delta, and Put() should wait.
  std::optional<Delta> TakePart(std::uint64_t work = kWorkOfPart);
  bool collecting() const { return collecting_; }
  // All findings. Does not affect Take(). With the coverage.
  Evaluation All();
  // All verdicts, with the coverage in their copy.
  EvaluationView View();
  bool viewed() const { return aggregator_.viewed(); }  // A view has not ended.
  // What the verdicts on these nodes cover, as of the last All(), View() or Take(). Reads no
  // record. No value when none of the nodes is judged.
  std::optional<v1::Coverage> CoverageOf(const std::set<std::string>& nodes) const;
  // The same in parts. Reads some nodes; true: there are more.
  bool Read(NodesView& view) const;
  // After the last node, and without a change in between: nothing is collecting() then.
  void Found(NodesView& view) { view.findings.emplace(aggregator_.View()); }

  // Number of nodes that are judged.
  std::size_t nodes() const { return nodes_.size() - unjudged_.size(); }

 private:
  static constexpr std::uint64_t kWorkOfPart = 5'000;
  struct NodeOutcomes {
    Outcome settings;
    Outcome counters;  // And operators' rules, which may read counters
    const fleet::NodeRecord* record = nullptr;
    std::uint64_t version = 0;  // Of the record
  };
  // A rule, and its position in AllRules().
  struct NumberedRule {
    const Rule* rule = nullptr;
    std::size_t number = 0;
  };
  static RuleSet Run(const std::vector<NumberedRule>& rules, const fleet::NodeView& node,
                     MissingInputs& missing, Verdicts& all);
  std::uint32_t AddNode(const fleet::NodeRecord& record);
  void PutAll(std::uint32_t node);
  void PutCounters(std::uint32_t node);
  void JudgeSettings(std::uint32_t node);
  void JudgeCounters(std::uint32_t node);
  void Judge();
  bool Judge(WorkLeft& work);
  bool Aggregate(WorkLeft& work);
  void JudgeSingleNode();
  void Leave(const std::string& node);

  const profile::Profile profile_;
  fleet::ExpectationTable expectations_;
  std::vector<NumberedRule> settings_rules_;  // evaluate_node, by what they need
  std::vector<NumberedRule> counter_rules_;
  std::vector<NumberedRule> single_node_rules_;
  std::vector<const Rule*> unjudged_rules_;
  std::vector<NodeRule> operator_rules_;
  MissingInputs missing_settings_;
  MissingInputs missing_counters_;
  NodeIndex nodes_;
  FindingTable findings_;
  FindingAggregator aggregator_;
  PeerComparison peers_;
  UniquenessIndex uniqueness_;
  LldpComparison lldp_;
  CablingIndex cabling_;
  CoverageIndex coverage_;
  std::vector<NodeOutcomes> outcomes_;  // By number of node
  Outcome single_node_;
  RuleSet single_node_passing_;
  Ids reported_;
  Outcome subnets_;
  std::map<std::string, Outcome> unjudged_;  // By name of node
  bool changed_ = false;
  bool collecting_ = false;
  bool settled_ = true;  // The aggregator has all that was judged.
};

}  // namespace fabric::rules
