// Rule evaluation: tracks the nodes that changed, runs the rules engine over them and passes the
// result to the finding registry. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/fleet/fleet.h"
#include "daemon/profile/profile.h"
#include "daemon/rules/engine/engine.h"
#include "subnet/checks/check.h"

namespace fabric::control {

class Evaluator {
 public:
  // `profile` must outlive the evaluator.
  Evaluator(const profile::Profile& profile, std::span<const rules::NodeRule> custom_rules,
            Moment now);

  // Judges these nodes (the whole fleet) again, by another profile and other custom rules.
  void SetPolicy(const profile::Profile& profile, std::span<const rules::NodeRule> custom_rules,
                 std::set<std::string> nodes);
  // After a restart: delays evaluation until these nodes have reported, or until the time is over.
  // Rules that compare nodes need the whole fleet.
  void Await(std::set<std::string> nodes, SteadyTime until);
  void OnReport(const std::string& node);  // A whole snapshot has come.
  // Call it before the node is removed from the fleet.
  void OnRemoved(const std::string& node);
  // The node's record changed. Evaluated with the next Tick.
  void MarkChanged(const std::string& node) {
    changed_.insert(node);
    to_put_.insert(node);
  }
  // Findings of campaigns and the mesh, in place of those of the last call.
  void SetLocated(std::vector<v1::Finding> findings);
  // Findings about the controller itself, in place of those of the last call.
  void SetOwn(std::vector<v1::Finding> findings);
  // Verdicts on the InfiniBand subnets, in place of those of the last call.
  void SetSubnets(subnet::Evaluation checks);
  // Without findings. No value: no subnet is known.
  const std::optional<subnet::Evaluation>& subnets() const { return subnets_; }
  // Nodes that changed since the last evaluation, without those whose verdicts Advance is passing
  // to the findings.
  const std::set<std::string>& changed() const { return changed_; }

  // False while restored nodes are awaited.
  bool Settled(Moment now) const;
  // A step of an evaluation, which begins at most every 200 ms. True: call it again soon.
  bool Tick(const fleet::Fleet& fleet, FindingRegistry& findings, Moment now);
  // The same at any time: passes up to kNodesOfStep changed nodes to the engine, evaluates a part
  // when at most kNodesOfLastStep are left, and then applies the changes to the findings, some at a
  // time. Findings change only when all is evaluated. While restored nodes are awaited, it only
  // passes nodes. False: nothing is left.
  static constexpr std::size_t kNodesOfStep = 32;
  static constexpr std::size_t kNodesOfLastStep = 8;
  bool Advance(const fleet::Fleet& fleet, FindingRegistry& findings, Moment now);
  // Verdicts of an evaluation are not with the findings yet.
  bool collecting() const { return engine_->collecting(); }
  // What campaigns, the mesh and files report has changed since the last evaluation.
  bool reported_changed() const { return reported_changed_; }
  // All verdicts on the fleet as it is now: does what Advance has left. Updates `findings` only
  // when settled. The view must end in a turn.
  rules::EvaluationView EvaluateAll(const fleet::Fleet& fleet, FindingRegistry& findings,
                                    Moment now);
  // What the verdicts on these nodes cover, as of the last evaluation. No value: none is judged.
  std::optional<v1::Coverage> CoverageOf(const std::set<std::string>& nodes) const {
    return engine_->CoverageOf(nodes);
  }
  // The same in parts, while policies() is the same. Reads some nodes; false: these were the last,
  // and the view has the findings. The view must end in a turn.
  bool Read(rules::NodesView& view) const {
    if (engine_->Read(view)) return true;
    engine_->Found(view);
    return false;
  }
  std::uint64_t policies() const { return policies_; }  // Number of SetPolicy() so far
  std::size_t nodes() const { return engine_->nodes(); }

 private:
  void PutReported();
  std::size_t UpdateEngine(const fleet::Fleet& fleet, bool settled, std::size_t nodes_max);
  std::optional<rules::Delta> EvaluatePart(const fleet::Fleet& fleet);

  std::unique_ptr<rules::Engine> engine_;
  std::vector<std::unique_ptr<rules::Engine>> earlier_;  // Of other policies, while they have views
  std::vector<v1::Finding> located_;                     // As in the engine
  std::vector<v1::Finding> own_;                         // As in the engine
  std::vector<v1::Finding> subnet_findings_;             // As in the engine
  std::set<std::string> changed_;
  std::set<std::string> to_put_;  // Of these, those that the engine has in an older state
  std::optional<subnet::Evaluation> subnets_;
  bool reported_changed_ = false;
  int parts_ = 0;  // Of this evaluation
  std::uint64_t policies_ = 0;
  std::set<std::string> awaited_;
  SteadyTime awaited_until_;
  SteadyTime evaluated_at_;
};

}  // namespace fabric::control
