#include "daemon/infer/infer_yaml.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "daemon/profile/profile_yaml.h"

namespace fabric::infer {
namespace {

constexpr std::size_t kNamedMax = 12;  // Of those who differ, in a comment

// Names come from other machines: nothing of them may end a comment.
std::string Comment(std::string text, std::string_view indent) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return Format("{}# {}\n", indent, text);
}

std::string WhoDiffers(const Outcome& outcome, const Choice& choice, std::string_view indent) {
  if (choice.differing.empty()) return {};
  std::string text = Format("{} of {} have it; not so:", choice.having,
                            Plural(choice.of, outcome.of_nodes ? "node" : "port"));
  text = Comment(std::move(text), indent);
  for (std::size_t i = 0; i < std::min(choice.differing.size(), kNamedMax); ++i)
    text += Comment("  " + choice.differing[i], indent);
  if (choice.differing.size() > kNamedMax)
    text += Comment(Format("  and {} more", choice.differing.size() - kNamedMax), indent);
  return text;
}

std::string Said(const Outcome& outcome, const Choice& choice, std::string_view indent) {
  return WhoDiffers(outcome, choice, indent) + Format("{}{}\n", indent, LineOf(choice.expect));
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
        by_where[WhereText(where)] += Said(outcome, choice, "      ");
  std::string text;
  for (const auto& [where, said] : by_where) text += where + "    expect:\n" + said;
  return text.empty() ? text : "overrides:\n" + text;
}

std::string Expect(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes)
    for (const Choice& choice : outcome.choices)
      if (choice.where.empty()) text += Said(outcome, choice, "  ");
  return text.empty() ? text : "expect:\n" + text;
}

std::string LeftOut(const std::vector<Outcome>& outcomes) {
  std::string text;
  for (const Outcome& outcome : outcomes)
    if (!outcome.left_out.empty())
      text += Comment(Format("  {}: {}", outcome.field, outcome.left_out), "");
  if (!text.empty()) text = "#\n" + Comment("Left out:", "") + text;
  std::vector<std::string> unread;
  for (const std::string_view name : NeverRead(Readings())) unread.emplace_back(name);
  return text + "#\n" + Comment("Nobody but you can say: " + Join(unread, ", "), "");
}

std::size_t FabricPorts(const fleet::FleetView& fleet) {
  std::size_t ports = 0;
  for (const auto& rail : fleet.rails()) ports += rail.size();
  return ports;
}

}  // namespace

std::string ToYaml(const fleet::FleetView& fleet, const std::vector<Outcome>& outcomes) {
  const std::string nodes = Plural(fleet.nodes().size(), "node");
  std::string text = Comment(Format("What most of {} with {} of the fabric have, and who differs.",
                                    nodes, Plural(FabricPorts(fleet), "port")),
                             "");
  text += Comment("What most have may be wrong: read it before you use it.", "");
  text += Format("name: inferred\ntitle: \"What most of {} have\"\n", nodes);
  return text + Expect(outcomes) + Overrides(outcomes) + LeftOut(outcomes);
}

}  // namespace fabric::infer
