#include "daemon/rules/equality_rule.h"

#include <algorithm>
#include <utility>

#include "base/priority_mask.h"
#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

std::string Where(const Group& group, bool of_nodes) {
  std::string where = of_nodes || group.rail ? "nodes" : "ports";
  if (!group.like.empty()) where += Format(" with {}", group.like);
  if (group.rail) where += Format(" on rail {}", *group.rail);
  return where;
}

v1::Evidence EvidenceOf(const EqualityRule& equality, const Member& member, std::string seen,
                        std::string expected, std::string basis) {
  return ToEvidence(*member.node->node, {.what = std::string(equality.what),
                                         .expected = std::move(expected),
                                         .seen = std::move(seen),
                                         .source = equality.source(member),
                                         .basis = std::move(basis)});
}

std::vector<v1::Remedy> RemediesOf(const EqualityRule& equality, const Member& member,
                                   const Value& expected) {
  if (equality.remedies == nullptr) return {};
  return equality.remedies(member, expected);
}

// A digest can only be shown as a difference.
std::string Show(const EqualityRule& equality, const Member& member, const Value& value,
                 const Member* other) {
  if (equality.show_difference != nullptr && other != nullptr)
    return equality.show_difference(member, *other);
  return equality.show(value);
}

v1::Subject SubjectOf(const Group& group) {
  v1::Subject subject;
  subject.set_scope(group.rail ? v1::SCOPE_RAIL : v1::SCOPE_FLEET);
  if (group.rail) subject.set_rail(*group.rail);
  return subject;
}

// Distinguishes the findings of several groups with one subject.
std::string KeyOf(const EqualityRule& equality, const Group& group) {
  std::string key(equality.key);
  if (!group.like.empty()) key = Format("{} {}", key, group.like);
  if (group.part != 0) key = Format("{} {:x}", key, group.part);
  return key;
}

std::string Incomparable(const EqualityRule& equality, const Member& member, const Member& other) {
  return equality.incomparable == nullptr ? std::string() : equality.incomparable(member, other);
}

void AddUnknown(const EqualityRule& equality, v1::Subject subject, const Member& member,
                const Member& other, const std::string& why, std::string_view key, Verdicts& out) {
  out.Unknown(
      std::move(subject), Format("{} cannot be compared completely: {}", equality.what, why),
      {ToEvidence(*member.node->node, {.what = std::string(equality.what),
                                       .expected = "as on " + SubjectName(rules::SubjectOf(other)),
                                       .seen = why,
                                       .source = equality.source(member),
                                       .basis = "rule",
                                       .unread = true})},
      key);
}

// No two sides differ in what both have.
bool AreAllIncomparable(const EqualityRule& equality, const std::vector<ValueSummary>& sides) {
  for (std::size_t i = 1; i < sides.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (Incomparable(equality, sides[i].first, sides[j].first).empty()) return false;
  return true;
}

// Without a majority the operator chooses: for each of the first two values, the remedies that give
// it to a member with the other one.
std::vector<v1::Remedy> Choices(const EqualityRule& equality,
                                const std::vector<ValueSummary>& sides,
                                const std::vector<std::string>& shown) {
  std::vector<v1::Remedy> choices;
  for (std::size_t i = 0; i < 2; ++i) {
    const Member& other = sides[1 - i].first;
    for (v1::Remedy& remedy : RemediesOf(equality, other, sides[i].value)) {
      const bool known = std::ranges::any_of(choices, [&](const v1::Remedy& each) {
        return each.command() == remedy.command() && each.platform() == remedy.platform() &&
               (!remedy.command().empty() || each.note() == remedy.note());
      });
      if (known) continue;
      SetHost(other.node->node->name, remedy);
      if (remedy.affects() != v1::REMEDY_REACH_NOTHING)
        remedy.set_note(Format("Only if the value is meant as in '{}': decide first. {}", shown[i],
                               remedy.note()));
      choices.push_back(std::move(remedy));
    }
  }
  return choices;
}

// What differs between the first two sides that can be compared.
void AddDifferences(const EqualityRule& equality, const std::vector<ValueSummary>& sides,
                    std::vector<v1::Evidence>& evidence) {
  const std::size_t before = evidence.size();
  for (std::size_t i = 1; i < sides.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      equality.more(sides[i].first, sides[j].first, evidence);
      for (std::size_t at = before; at < evidence.size(); ++at)
        evidence[at].set_basis(evidence[at].basis() + ", no majority");
      if (evidence.size() > before) return;
    }
}

}  // namespace

std::string ShowNumber(const Value& value) {
  return Format("{}", value.number);
}

std::string ShowText(const Value& value) {
  return std::string(value.text);
}

std::string ShowPriorities(const Value& value) {
  return ToText(PriorityMask(value.number));
}

std::string ShowOnOff(const Value& value) {
  return value.number != 0 ? "on" : "off";
}

std::string Basis(const EqualityRule& equality, const Group& group, std::uint64_t count,
                  std::uint64_t of) {
  return Format("{} {}", Share(count, of), Where(group, equality.of_nodes));
}

void FailMember(const EqualityRule& equality, const Member& member, const Value& seen,
                const Value& expected, const std::string& basis, const Member* good,
                Verdicts& out) {
  if (const auto why = good != nullptr ? Incomparable(equality, member, *good) : std::string();
      !why.empty())
    return AddUnknown(equality, SubjectOf(member), member, *good, why, equality.key, out);
  const std::string is = Show(equality, member, seen, good);
  const std::string wanted =
      good != nullptr ? Show(equality, *good, expected, &member) : equality.show(expected);
  std::vector<v1::Evidence> evidence = {EvidenceOf(equality, member, is, wanted, basis)};
  if (equality.more != nullptr && good != nullptr) equality.more(member, *good, evidence);
  const std::string_view colon = equality.show_difference != nullptr ? ":" : "";
  out.Fail(SubjectOf(member),
           Format("{}{} {}, expected {} ({})", equality.what, colon, is, wanted, basis),
           std::move(evidence), RemediesOf(equality, member, expected), equality.key);
}

void FailGroup(const EqualityRule& equality, const Group& group,
               const std::vector<ValueSummary>& sides, std::uint64_t values, std::uint64_t members,
               std::vector<v1::Subject> affected, Verdicts& out) {
  const std::size_t all = affected.size() < kAffectedMax ? affected.size() : members;
  if (values == sides.size() && AreAllIncomparable(equality, sides)) {
    const Member& other = sides[1].first;
    AddUnknown(equality, SubjectOf(group), other, sides[0].first,
               Incomparable(equality, other, sides[0].first), KeyOf(equality, group), out);
    return out.SetAffected(std::move(affected), all);
  }
  std::vector<std::string> shown;
  std::vector<v1::Evidence> evidence;
  for (const ValueSummary& side : sides) {
    const Member& other = sides[&side == &sides[0] ? 1 : 0].first;
    const std::string value = Show(equality, side.first, side.value, &other);
    const std::string who = Listed(side.nodes, side.all_nodes);
    shown.push_back(Format("{} on {}", value, who));
    evidence.push_back(EvidenceOf(equality, side.first, value,
                                  group.rail ? "the same on the whole rail" : "the same",
                                  Basis(equality, group, side.members, members) + ", no majority"));
    evidence.back().set_what(
        Format("{} of {}", equality.what, ListedAll(side.nodes, side.all_nodes)));
  }
  if (equality.incomparable != nullptr) AddDifferences(equality, sides, evidence);
  if (values > sides.size()) shown.push_back(Format("and {} more values", values - sides.size()));
  out.Fail(SubjectOf(group), Format("values of {} differ: {}", equality.what, Join(shown, "; ")),
           std::move(evidence), Choices(equality, sides, shown), KeyOf(equality, group));
  out.SetAffected(std::move(affected), all);
}

}  // namespace fabric::rules
