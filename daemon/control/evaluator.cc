#include "daemon/control/evaluator.h"

#include <utility>

namespace fabric::control {
namespace {

constexpr Duration kEvaluateEvery = std::chrono::milliseconds(200);

}  // namespace

Evaluator::Evaluator(const profile::Profile& profile, std::span<const rules::NodeRule> custom_rules,
                     Moment now)
    : engine_(profile), awaited_until_(now.steady), evaluated_at_(now.steady - kEvaluateEvery) {
  for (const rules::NodeRule& rule : custom_rules) engine_.AddNodeRule(rule);
}

void Evaluator::Await(std::set<std::string> nodes, SteadyTime until) {
  awaited_ = std::move(nodes);
  awaited_until_ = until;
}

void Evaluator::OnReport(const std::string& node) {
  awaited_.erase(node);
  MarkChanged(node);
}

bool Evaluator::Settled(Moment now) const {
  return awaited_.empty() || now.steady >= awaited_until_;
}

void Evaluator::Tick(const fleet::Fleet& fleet, FindingRegistry& findings, Moment now) {
  if (!changed_.empty() && Settled(now) && now.steady - evaluated_at_ >= kEvaluateEvery)
    Evaluate(fleet, findings, now);
}

rules::Evaluation Evaluator::EvaluateAll(const fleet::Fleet& fleet, FindingRegistry& findings,
                                         Moment now) {
  if (Settled(now))
    Evaluate(fleet, findings, now);
  else
    UpdateEngine(fleet);
  return engine_.All();
}

// Records change in place, so the engine must take every changed one before it evaluates.
void Evaluator::UpdateEngine(const fleet::Fleet& fleet) {
  for (const std::string& node : changed_) {
    const fleet::NodeRecord& record = *fleet.Find(node);
    if (record.known())
      engine_.Put(record);
    else
      engine_.Remove(node);
  }
  changed_.clear();
}

void Evaluator::Evaluate(const fleet::Fleet& fleet, FindingRegistry& findings, Moment now) {
  UpdateEngine(fleet);
  findings.Take(engine_.Take(), fleet, now);
  evaluated_at_ = now.steady;
}

}  // namespace fabric::control
