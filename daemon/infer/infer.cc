#include "daemon/infer/infer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/profile/profile_yaml.h"
#include "proto/message_yaml.h"

namespace fabric::infer {
namespace {

// The rail of the value; empty for several rails or another selector.
std::optional<std::uint32_t> RailOf(const ExpectedValue& expected) {
  if (expected.where.size() != 1 || expected.where[0].rails_size() != 1) return {};
  return expected.where[0].rails(0);
}

void Add(const InferredField& inferred, v1::InferProfileResponse& response) {
  const std::string name(inferred.field);
  for (const ExpectedValue& expected : inferred.values) {
    v1::InferredValue& value = *response.add_values();
    value.set_field(name);
    if (const auto rail = RailOf(expected)) value.set_rail(*rail);
    value.set_value(
        WriteValue(expected.expect, *v1::Expectations::descriptor()->FindFieldByName(name)));
    value.set_count(static_cast<std::uint32_t>(expected.count));
    value.set_total(static_cast<std::uint32_t>(expected.total));
    value.mutable_differing()->Assign(expected.differing.begin(), expected.differing.end());
  }
  if (!inferred.values.empty()) return;
  v1::InferredValue& value = *response.add_values();
  value.set_field(name);
  value.set_not_set_reason(inferred.not_set_reason);
}

constexpr std::size_t kNamedMax = 12;  // Listed nodes or ports that differ, in a comment

// Names come from other machines: replaces characters that could end the comment.
std::string Comment(std::string text, std::string_view indent) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return Format("{}# {}\n", indent, text);
}

std::string TextOf(const v1::DifferingValue& differing) {
  return Format("{}{}{}: {}", differing.node(), differing.port().empty() ? "" : " ",
                differing.port(), differing.value());
}

std::string Differing(const InferredField& inferred, const ExpectedValue& expected,
                      std::string_view indent) {
  if (expected.differing.empty()) return {};
  std::string text = Format("{} of {}; these differ:", expected.count,
                            Plural(expected.total, inferred.of_nodes ? "node" : "port"));
  text = Comment(std::move(text), indent);
  for (std::size_t i = 0; i < std::min(expected.differing.size(), kNamedMax); ++i)
    text += Comment("  " + TextOf(expected.differing[i]), indent);
  if (expected.differing.size() > kNamedMax)
    text += Comment(Format("  and {} more", expected.differing.size() - kNamedMax), indent);
  return text;
}

std::string ValueText(const InferredField& inferred, const ExpectedValue& expected,
                      std::string_view indent) {
  return Differing(inferred, expected, indent) + Format("{}{}\n", indent, LineOf(expected.expect));
}

// "  -\n    where:\n      rails: [8]\n"
std::string WhereText(const v1::Selector& where) {
  v1::Profile profile;
  *profile.add_overrides()->mutable_where() = where;
  return profile::ToYaml(profile).substr(std::string_view("overrides:\n").size());
}

std::string Overrides(const std::vector<InferredField>& fields) {
  std::map<std::string, std::string> by_where;
  for (const InferredField& inferred : fields)
    for (const ExpectedValue& expected : inferred.values)
      for (const v1::Selector& where : expected.where)
        by_where[WhereText(where)] += ValueText(inferred, expected, "      ");
  std::string text;
  for (const auto& [where, values] : by_where) text += where + "    expect:\n" + values;
  return text.empty() ? text : "overrides:\n" + text;
}

std::string Expect(const std::vector<InferredField>& fields) {
  std::string text;
  for (const InferredField& inferred : fields)
    for (const ExpectedValue& expected : inferred.values)
      if (expected.where.empty()) text += ValueText(inferred, expected, "  ");
  return text.empty() ? text : "expect:\n" + text;
}

std::string NotSet(const std::vector<InferredField>& fields) {
  std::string text;
  for (const InferredField& inferred : fields)
    if (!inferred.not_set_reason.empty())
      text += Comment(Format("  {}: {}", inferred.field, inferred.not_set_reason), "");
  if (!text.empty()) text = "#\n" + Comment("Not set:", "") + text;
  std::vector<std::string> unread;
  for (const std::string_view name : NeverRead(Readings())) unread.emplace_back(name);
  return text + "#\n" + Comment("Not inferable, set by hand: " + Join(unread, ", "), "");
}

// YAML for profile::ParseProfiles(); comments list the nodes and ports that differ.
std::string YamlOf(const FieldValues& values, const std::vector<InferredField>& fields) {
  const std::string nodes = Plural(values.nodes().size(), "node");
  std::string text =
      Comment(Format("Profile inferred from the majority of {} with {} of the fabric.", nodes,
                     Plural(values.fabric_ports(), "port")),
              "");
  text += Comment("The majority may be wrong: review each value before use.", "");
  text += Format("name: inferred\ntitle: \"Majority of {}\"\n", nodes);
  return text + Expect(fields) + Overrides(fields) + NotSet(fields);
}

}  // namespace

v1::InferProfileResponse InferProfile(const fleet::FleetView& fleet) {
  FieldValues values;
  for (const fleet::NodeView& node : fleet.nodes()) values.Add(node);
  return InferProfile(values);
}

v1::InferProfileResponse InferProfile(const FieldValues& values) {
  v1::InferProfileResponse response;
  const std::vector<InferredField> fields = values.Infer();
  for (const InferredField& inferred : fields) Add(inferred, response);
  response.set_yaml(YamlOf(values, fields));
  return response;
}

}  // namespace fabric::infer
