#include "daemon/rules/agreement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"

namespace fabric::rules {
namespace {

struct Camp {
  Value value;
  std::vector<Member> members;
};

// All that are compared with each other.
struct Compared {
  Group group;
  std::vector<Camp> camps;  // Largest first, then by value
  std::size_t members = 0;
  bool of_nodes = false;

  // nullptr: there is no majority.
  const Camp* Majority() const {
    if (camps.size() > 1 && camps[0].members.size() == camps[1].members.size()) return nullptr;
    return &camps[0];
  }
};

std::string Where(const Group& group, bool of_nodes) {
  std::string where = of_nodes || group.rail ? "nodes" : "ports";
  if (!group.like.empty()) where += Format(" with {}", group.like);
  if (group.rail) where += Format(" on rail {}", *group.rail);
  return where;
}

std::string Basis(const Compared& compared, const Camp& camp) {
  return Format("{} of {} {}", camp.members.size(), compared.members,
                Where(compared.group, compared.of_nodes));
}

v1::Evidence EvidenceOf(const Agreement& agreement, const Member& member, const Value& seen,
                        std::string expected, std::string basis) {
  return ToEvidence(*member.node->node, {.what = std::string(agreement.what),
                                         .expected = std::move(expected),
                                         .seen = agreement.show(seen),
                                         .source = agreement.source(member),
                                         .basis = std::move(basis)});
}

std::vector<v1::Remedy> RemediesOf(const Agreement& agreement, const Member& member,
                                   const Value& expected) {
  if (agreement.remedies == nullptr) return {};
  return agreement.remedies(member, expected);
}

void FailMember(const Agreement& agreement, const Member& member, const Value& seen,
                const Value& expected, const std::string& basis, const Member* good,
                Verdicts& out) {
  const std::string wanted = agreement.show(expected);
  std::vector<v1::Evidence> evidence = {EvidenceOf(agreement, member, seen, wanted, basis)};
  if (agreement.more != nullptr && good != nullptr) agreement.more(member, *good, evidence);
  out.Fail(SubjectOf(member),
           Format("{} {}, expected {} ({})", agreement.what, agreement.show(seen), wanted, basis),
           std::move(evidence), RemediesOf(agreement, member, expected), agreement.key);
}

std::string NamesOf(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& member : members)
    if (names.empty() || names.back() != member.node->node->name)
      names.push_back(member.node->node->name);
  return Listed(names);
}

v1::Subject SubjectOf(const Group& group) {
  v1::Subject subject;
  subject.set_scope(group.rail ? v1::SCOPE_RAIL : v1::SCOPE_FLEET);
  if (group.rail) subject.set_rail(*group.rail);
  return subject;
}

void FailGroup(const Agreement& agreement, const Compared& compared, Verdicts& out) {
  std::vector<std::string> sides;
  std::vector<v1::Evidence> evidence;
  for (const Camp& camp : compared.camps) {
    if (sides.size() == kListedMax) {
      sides.push_back(Format("and {} more values", compared.camps.size() - sides.size()));
      break;
    }
    const std::string who = NamesOf(camp.members);
    sides.push_back(Format("{} on {}", agreement.show(camp.value), who));
    evidence.push_back(EvidenceOf(agreement, camp.members[0], camp.value,
                                  compared.group.rail ? "the same on the whole rail" : "the same",
                                  Basis(compared, camp) + ", no majority"));
    evidence.back().set_what(Format("{} of {}", agreement.what, who));
  }
  const Camp& first = compared.camps[0];
  std::vector<v1::Remedy> remedies = RemediesOf(agreement, first.members[0], first.value);
  for (v1::Remedy& remedy : remedies)
    remedy.set_note(
        Format("For {}; decide first which value is meant. {}", sides[0], remedy.note()));
  const std::string key = compared.group.like.empty()
                              ? std::string(agreement.key)
                              : Format("{} {}", agreement.key, compared.group.like);
  out.Fail(SubjectOf(compared.group),
           Format("{} not the same: {}", agreement.what, Join(sides, "; ")), std::move(evidence),
           std::move(remedies), key);
}

void JudgeGroup(const Agreement& agreement, const Compared& compared, Verdicts& out) {
  const Camp* const majority = compared.Majority();
  if (majority == nullptr) return FailGroup(agreement, compared, out);
  for (const Camp& camp : compared.camps) {
    for (const Member& member : camp.members) {
      if (&camp == majority)
        out.Pass();
      else
        FailMember(agreement, member, camp.value, majority->value, Basis(compared, *majority),
                   &majority->members[0], out);
    }
  }
}

// The camps of each group.
using Groups = std::map<Group, std::map<Value, std::vector<Member>>>;

// What the profile decides is judged at once; the rest has to wait for the others of its group.
void Take(const Agreement& agreement, const Member& member, Groups& groups, Verdicts& out) {
  const std::optional<Value> seen = agreement.value(member);
  if (!seen) {
    if (agreement.needed != nullptr && agreement.needed(member))
      Unreadable(member, agreement.what, agreement.source(member), out, agreement.key);
    return;
  }
  const fleet::Expectation& expectation = member.expectation();
  if (agreement.expected != nullptr) {
    if (const std::optional<Value> expected = agreement.expected(expectation.values)) {
      if (*expected == *seen) return out.Pass();
      return FailMember(agreement, member, *seen, *expected, ProfileBasis(expectation), nullptr,
                        out);
    }
  }
  if (const std::optional<Group> group = agreement.group(member))
    groups[*group][*seen].push_back(member);
}

}  // namespace

std::optional<Group> ByRail(const Member& port) {
  if (!port.port->rail) return {};
  return Group{.rail = port.port->rail->value()};
}

std::optional<Group> ByRailAndModel(const Member& port) {
  const v1::RdmaDevice& device = *port.port->device;
  if (!port.port->rail || !device.has_model()) return {};
  return Group{.rail = port.port->rail->value(), .like = device.model()};
}

std::optional<Group> ByModel(const Member& port) {
  const v1::RdmaDevice& device = *port.port->device;
  if (!device.has_model()) return {};
  return Group{.rail = {}, .like = device.model()};
}

std::optional<Group> ByProduct(const Member& node) {
  return Group{.rail = {}, .like = node.snapshot().host().product()};
}

std::optional<Group> WholeFleet(const Member&) {
  return Group{};
}

std::string ShowNumber(const Value& value) {
  return Format("{}", value.number);
}

std::string ShowText(const Value& value) {
  return std::string(value.text);
}

std::string ShowPriorities(const Value& value) {
  return PriorityMask(static_cast<std::uint32_t>(value.number));
}

std::string ShowOnOff(const Value& value) {
  return value.number != 0 ? "on" : "off";
}

void Judge(const Agreement& agreement, const fleet::FleetView& fleet, Verdicts& out) {
  Groups groups;
  for (const fleet::NodeView& node : fleet.nodes()) {
    if (agreement.of_nodes) {
      Take(agreement, {.node = &node}, groups, out);
      continue;
    }
    for (const fleet::PortView& port : node.ports)
      Take(agreement, {.node = &node, .port = &port}, groups, out);
  }
  for (auto& [group, by_value] : groups) {
    Compared compared{.group = group, .camps = {}, .members = 0, .of_nodes = agreement.of_nodes};
    for (auto& [value, members] : by_value) {
      compared.members += members.size();
      compared.camps.push_back({.value = value, .members = std::move(members)});
    }
    std::stable_sort(
        compared.camps.begin(), compared.camps.end(),
        [](const Camp& a, const Camp& b) { return a.members.size() > b.members.size(); });
    JudgeGroup(agreement, compared, out);
  }
}

}  // namespace fabric::rules
