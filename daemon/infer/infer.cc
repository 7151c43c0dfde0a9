#include "daemon/infer/infer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/infer/vote.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::infer {
namespace {

std::string ValueOf(const Choice& choice) {
  const std::string line = LineOf(choice.expect);
  return line.substr(line.find(": ") + 2);
}

// The rail of the choice; empty for several rails or another selector.
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

constexpr std::size_t kNamedMax = 12;  // Listed nodes or ports that differ, in a comment

// Names come from other machines: replaces characters that could end the comment.
std::string Comment(std::string text, std::string_view indent) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return Format("{}# {}\n", indent, text);
}

std::string Differing(const Outcome& outcome, const Choice& choice, std::string_view indent) {
  if (choice.differing.empty()) return {};
  std::string text = Format("{} of {}; these differ:", choice.having,
                            Plural(choice.of, outcome.of_nodes ? "node" : "port"));
  text = Comment(std::move(text), indent);
  for (std::size_t i = 0; i < std::min(choice.differing.size(), kNamedMax); ++i)
    text += Comment("  " + choice.differing[i], indent);
  if (choice.differing.size() > kNamedMax)
    text += Comment(Format("  and {} more", choice.differing.size() - kNamedMax), indent);
  return text;
}

std::string ValueText(const Outcome& outcome, const Choice& choice, std::string_view indent) {
  return Differing(outcome, choice, indent) + Format("{}{}\n", indent, LineOf(choice.expect));
}

// "  -\n    where:\n      rails: [8]\n"
std::string WhereText(const v1::Selector& where) {
  v1::Profile profile;
  *profile.add_overrides()->mutable_where() = where;
  return profile::ToYaml(profile).substr(std::string_view("overrides:\n").size());
}

std::string Overrides(const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::string> by_where;
  for (const Outcome& outcome : outcomes)
    for (const Choice& choice : outcome.choices)
      for (const v1::Selector& where : choice.where)
        by_where[WhereText(where)] += ValueText(outcome, choice, "      ");
  std::string text;
  for (const auto& [where, said] : by_where) text += where + "    expect:\n" + said;
  return text.empty() ? text : "overrides:\n" + text;
}

std::string Expect(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes)
    for (const Choice& choice : outcome.choices)
      if (choice.where.empty()) text += ValueText(outcome, choice, "  ");
  return text.empty() ? text : "expect:\n" + text;
}

std::string NotSet(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes)
    if (!outcome.left_out.empty())
      text += Comment(Format("  {}: {}", outcome.field, outcome.left_out), "");
  if (!text.empty()) text = "#\n" + Comment("Not set:", "") + text;
  std::vector<std::string> unread;
  for (const std::string_view name : NeverRead(Readings())) unread.emplace_back(name);
  return text + "#\n" + Comment("Not inferable, set by hand: " + Join(unread, ", "), "");
}

std::size_t FabricPorts(const fleet::FleetView& fleet) {
  std::size_t ports = 0;
  for (const auto& rail : fleet.rails()) ports += rail.size();
  return ports;
}

// YAML for profile::ParseProfiles(); comments list the nodes and ports that differ.
std::string YamlOf(const fleet::FleetView& fleet, const std::vector<Outcome>& outcomes) {
  const std::string nodes = Plural(fleet.nodes().size(), "node");
  std::string text =
      Comment(Format("Profile inferred from the majority of {} with {} of the fabric.", nodes,
                     Plural(FabricPorts(fleet), "port")),
              "");
  text += Comment("The majority may be wrong: review each value before use.", "");
  text += Format("name: inferred\ntitle: \"Majority of {}\"\n", nodes);
  return text + Expect(outcomes) + Overrides(outcomes) + NotSet(outcomes);
}

}  // namespace

v1::InferProfileResponse InferProfile(const fleet::FleetView& fleet) {
  v1::InferProfileResponse response;
  const std::vector<Outcome> outcomes = Vote(fleet);
  for (const Outcome& outcome : outcomes) Add(outcome, response);
  response.set_yaml(YamlOf(fleet, outcomes));
  return response;
}

}  // namespace fabric::infer
