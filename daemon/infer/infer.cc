#include "daemon/infer/infer.h"

#include "daemon/infer/infer_yaml.h"
#include "daemon/infer/vote.h"

namespace fabric::infer {
namespace {

std::string ValueOf(const Choice& choice) {
  const std::string line = LineOf(choice.expect);
  return line.substr(line.find(": ") + 2);
}

// The rail that the choice is about; nothing when it is about several, or about something else.
std::optional<std::uint32_t> RailOf(const Choice& choice) {
  if (choice.where.size() != 1 || choice.where[0].rails_size() != 1) return {};
  return choice.where[0].rails(0);
}

void Add(const Outcome& outcome, v1::InferProfileResponse& response) {
  for (const Choice& choice : outcome.choices) {
    v1::InferredValue& value = *response.add_values();
    value.set_field(std::string(outcome.field));
    if (const auto rail = RailOf(choice)) value.set_rail(*rail);
    value.set_value(ValueOf(choice));
    value.set_having(static_cast<std::uint32_t>(choice.having));
    value.set_of(static_cast<std::uint32_t>(choice.of));
    value.mutable_differing()->Assign(choice.differing.begin(), choice.differing.end());
  }
  if (!outcome.choices.empty()) return;
  v1::InferredValue& value = *response.add_values();
  value.set_field(std::string(outcome.field));
  value.add_differing(outcome.left_out);
}

}  // namespace

v1::InferProfileResponse InferProfile(const fleet::FleetView& fleet) {
  v1::InferProfileResponse response;
  const std::vector<Outcome> outcomes = Vote(fleet);
  for (const Outcome& outcome : outcomes) Add(outcome, response);
  response.set_yaml(ToYaml(fleet, outcomes));
  return response;
}

}  // namespace fabric::infer
