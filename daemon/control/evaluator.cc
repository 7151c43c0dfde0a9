#include "daemon/control/evaluator.h"

#include <utility>

namespace fabric::control {
namespace {

constexpr Duration kEvaluateEvery = std::chrono::milliseconds(200);
// Parts of one evaluation: with 10,000 nodes from scratch about a hundred.
constexpr int kPartsMax = 2'000;

std::unique_ptr<rules::Engine> MakeEngine(const profile::Profile& profile,
                                          std::span<const rules::NodeRule> custom_rules) {
  auto engine = std::make_unique<rules::Engine>(profile);
  for (const rules::NodeRule& rule : custom_rules) engine->AddNodeRule(rule);
  return engine;
}

}  // namespace

Evaluator::Evaluator(const profile::Profile& profile, std::span<const rules::NodeRule> custom_rules,
                     Moment now)
    : engine_(MakeEngine(profile, custom_rules)),
      awaited_until_(now.steady),
      evaluated_at_(now.steady - kEvaluateEvery) {}

void Evaluator::SetPolicy(const profile::Profile& profile,
                          std::span<const rules::NodeRule> custom_rules,
                          std::set<std::string> nodes) {
  if (engine_->viewed()) earlier_.push_back(std::move(engine_));
  engine_ = MakeEngine(profile, custom_rules);
  parts_ = 0;
  ++policies_;
  PutReported();
  if (subnets_) engine_->PutSubnets(subnet_findings_, subnets_->counts.pass());
  to_put_.insert(nodes.begin(), nodes.end());
  changed_.merge(nodes);
  reported_changed_ = true;
}

void Evaluator::SetLocated(std::vector<v1::Finding> findings) {
  located_ = std::move(findings);
  PutReported();
}

void Evaluator::SetOwn(std::vector<v1::Finding> findings) {
  own_ = std::move(findings);
  PutReported();
}

void Evaluator::PutReported() {
  std::vector<v1::Finding> all = located_;
  all.insert(all.end(), own_.begin(), own_.end());
  engine_->PutReported(std::move(all));
  reported_changed_ = true;
}

void Evaluator::Await(std::set<std::string> nodes, SteadyTime until) {
  changed_.insert(nodes.begin(), nodes.end());
  to_put_.insert(nodes.begin(), nodes.end());
  awaited_ = std::move(nodes);
  awaited_until_ = until;
}

void Evaluator::OnReport(const std::string& node) {
  awaited_.erase(node);
  MarkChanged(node);
}

void Evaluator::OnRemoved(const std::string& node) {
  engine_->Remove(node);
  awaited_.erase(node);
  MarkChanged(node);
}

void Evaluator::SetSubnets(subnet::Evaluation checks) {
  subnet_findings_ = std::exchange(checks.findings, {});
  engine_->PutSubnets(subnet_findings_, checks.counts.pass());
  subnets_ = std::move(checks);
  reported_changed_ = true;
}

bool Evaluator::Settled(Moment now) const {
  return awaited_.empty() || now.steady >= awaited_until_;
}

bool Evaluator::Tick(const fleet::Fleet& fleet, FindingRegistry& findings, Moment now) {
  std::erase_if(earlier_, [](const auto& engine) { return !engine->viewed(); });
  if (findings.busy() || collecting()) return Advance(fleet, findings, now);
  if (changed_.empty() && !reported_changed_) return false;
  if (!Settled(now) || now.steady - evaluated_at_ < kEvaluateEvery) return false;
  return Advance(fleet, findings, now);
}

bool Evaluator::Advance(const fleet::Fleet& fleet, FindingRegistry& findings, Moment now) {
  if (findings.busy()) {
    (void)findings.Advance(fleet, now);
    return true;
  }
  if (!collecting()) {
    const bool settled = Settled(now);
    if (!settled || to_put_.size() > kNodesOfLastStep)
      return UpdateEngine(fleet, settled, kNodesOfStep) > 0;
    if (changed_.empty() && !reported_changed_) return false;
  }
  if (std::optional<rules::Delta> delta = EvaluatePart(fleet)) {
    findings.Begin(*std::move(delta));
    evaluated_at_ = now.steady;
  }
  return true;
}

// Records change in place, so the engine must take every changed one before it judges a part. When
// all is judged, it no longer reads them.
std::optional<rules::Delta> Evaluator::EvaluatePart(const fleet::Fleet& fleet) {
  const bool judging = !collecting();
  if (judging) (void)UpdateEngine(fleet, true, to_put_.size());
  // Nodes that change all the time could lengthen an evaluation without end.
  const bool last = ++parts_ == kPartsMax;
  std::optional<rules::Delta> delta = last ? engine_->Take() : engine_->TakePart();
  if (judging && (delta || collecting())) {
    changed_.clear();
    reported_changed_ = false;
  }
  if (delta) parts_ = 0;
  return delta;
}

rules::EvaluationView Evaluator::EvaluateAll(const fleet::Fleet& fleet, FindingRegistry& findings,
                                             Moment now) {
  while (Advance(fleet, findings, now)) {
  }
  return engine_->View();
}

// Awaited nodes are not lost yet. Returns how many it has passed.
std::size_t Evaluator::UpdateEngine(const fleet::Fleet& fleet, bool settled,
                                    std::size_t nodes_max) {
  std::size_t put = 0;
  for (auto at = to_put_.begin(); at != to_put_.end() && put < nodes_max;) {
    const fleet::NodeRecord* const record = fleet.Find(*at);
    if (record != nullptr && !record->known() && !settled && awaited_.contains(*at)) {
      ++at;
      continue;
    }
    ++put;
    if (record == nullptr)
      engine_->Remove(*at);
    else if (record->known())
      engine_->Put(*record);
    else
      engine_->PutUnjudged(*record);
    at = to_put_.erase(at);
  }
  return put;
}

}  // namespace fabric::control
