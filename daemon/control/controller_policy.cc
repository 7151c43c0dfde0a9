// Replacement of the profile and the custom rules.
#include <set>
#include <string>
#include <utility>

#include "daemon/control/controller.h"
#include "daemon/control/state.h"

namespace fabric::control {

void Controller::SetPolicy(Policy policy, Moment now) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, "policy");
  State& state = *state_;
  state.options.profile = std::move(policy.profile);
  state.options.custom_rules = std::move(policy.custom_rules);
  state.sites.set_places(std::move(policy.places));
  rule_problems_ = state.options.custom_rules.problems;
  std::set<std::string> nodes;
  for (const auto& [name, record] : state.fleet.nodes()) {
    nodes.insert(name);
    state.job_classes.OnNode(name);
  }
  state.evaluator.SetPolicy(state.options.profile, state.options.custom_rules.rules,
                            std::move(nodes));
  state.findings.ExpectAll();
  state.fleet.FindRailsAgain();
  OnFleetChange(now);
}

v1::Expectations Controller::FleetExpectations() {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
  return state_->options.profile.Expect({});
}

}  // namespace fabric::control
