#include "daemon/infer/majority.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/infer/selectors.h"
#include "daemon/rules/facts.h"
#include "proto/ports.h"

namespace fabric::infer {
namespace {

using rules::Group;
using rules::Member;
using rules::Value;

// Comparable ports or nodes by value, for one reading.
struct PeerGroup {
  const Reading* reading = nullptr;
  std::map<Value, std::vector<Member>> members;
  bool tied = false;  // No majority
  std::string line;   // Of a profile, for the majority's value; empty: no profile can express it
};

struct Field {
  std::vector<PeerGroup> groups;
  std::map<std::string, v1::Expectations> expectations;  // By line
  bool tied = false;                                     // In some group
  std::string inexpressible;  // Value of a majority that no profile can express
};

// "rail0", "mlx5_0/1" without a netdev, empty for a node.
std::string PortOf(const Member& member) {
  if (member.port == nullptr) return {};
  const v1::Port& port = *member.port->port;
  return port.has_netdev() ? port.netdev() : PortName(*member.port->device, port);
}

std::string NameOf(const Member& member) {
  const std::string port = PortOf(member);
  return port.empty() ? member.node->node->name : Format("{} {}", member.node->node->name, port);
}

Group GroupOf(const rules::EqualityRule& equality, const Member& member) {
  if (const auto group = equality.group(member)) return *group;
  // No rule compares it, but a profile would apply to it too.
  if (member.port == nullptr || !member.port->rail) return {};
  return {.rail = member.port->rail->value()};
}

// The most frequent value; nullptr: no majority.
const Value* MajorityOf(const PeerGroup& group) {
  const Value* most = nullptr;
  std::size_t count = 0, all = 0;
  for (const auto& [value, members] : group.members) {
    all += members.size();
    if (members.size() == count) most = nullptr;
    if (members.size() <= count) continue;
    most = &value;
    count = members.size();
  }
  return group.reading->equality->needs_absolute_majority && 2 * count <= all ? nullptr : most;
}

// False when several values of a profile express the majority's value.
bool Decide(PeerGroup& group, Field& field) {
  const Value* const most = MajorityOf(group);
  group.tied = most == nullptr;
  field.tied = field.tied || group.tied;
  if (group.tied) return true;
  bool ambiguous = false;
  const auto expect = ToExpectations(*group.reading, *most, &ambiguous);
  if (ambiguous) return false;
  if (!expect) {
    field.inexpressible = group.reading->equality->show(*most);
    return true;
  }
  group.line = LineOf(*expect);
  field.expectations.emplace(group.line, *expect);
  return true;
}

// A profile with the number of ports or GPUs makes each of them necessary: an idle port or a GPU
// without a driver would become a fault. Cards for storage are counted without a profile only.
bool HasIdleParts(std::string_view field, const fleet::NodeView& node) {
  if (field == "fabric_ports")
    return std::any_of(node.ports.begin(), node.ports.end(), [](const fleet::PortView& port) {
      return port.rail ? port.port->state() != v1::PORT_STATE_ACTIVE
                       : port.device->function().kind() == v1::FUNCTION_KIND_PHYSICAL;
    });
  const auto& gpus = node.node->snapshot.gpus();
  return field == "gpus" && std::any_of(gpus.begin(), gpus.end(),
                                        [](const v1::Gpu& gpu) { return !gpu.has_driver(); });
}

void Read(const fleet::FleetView& fleet, const Reading& reading, Field& field) {
  const rules::EqualityRule& equality = *reading.equality;
  std::map<Group, PeerGroup> groups;
  const auto take = [&](const Member& member) {
    if (HasIdleParts(reading.field, *member.node)) return;
    if (const auto value = equality.value(member))
      groups[GroupOf(equality, member)].members[*value].push_back(member);
  };
  for (const fleet::NodeView& node : fleet.nodes()) {
    if (equality.of_nodes) {
      take({.node = &node});
      continue;
    }
    for (const fleet::PortView& port : node.ports)
      if (port.rail) take({.node = &node, .port = &port});
  }
  for (auto& [key, group] : groups) {
    group.reading = &reading;
    if (Decide(group, field)) field.groups.push_back(std::move(group));
  }
}

struct Counted {
  Member member;
  bool has = false;  // The expected value
  const Reading* reading = nullptr;
  const Value* value = nullptr;

  auto Order() const { return std::tuple(member.node, member.port, has); }
  bool IsOf(const Counted& other) const {
    return member.node == other.member.node && member.port == other.member.port;
  }
};

v1::DifferingValue DifferingOf(const Counted& counted) {
  v1::DifferingValue differing;
  differing.set_node(counted.member.node->node->name);
  differing.set_port(PortOf(counted.member));
  differing.set_value(counted.reading->equality->show(*counted.value));
  return differing;
}

// Counts the members that the expected value applies to. A port can have several readings; it
// differs if one of them does.
void Count(const Field& field, const std::string& line, bool with_tied, ExpectedValue& expected) {
  std::vector<Counted> all;
  for (const PeerGroup& group : field.groups) {
    if (group.tied ? !with_tied : group.line != line) continue;
    for (const auto& [value, members] : group.members) {
      const auto expect = ToExpectations(*group.reading, value);
      const bool has = expect && LineOf(*expect) == line;
      for (const Member& member : members)
        all.push_back({.member = member, .has = has, .reading = group.reading, .value = &value});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Counted& a, const Counted& b) { return a.Order() < b.Order(); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].IsOf(all[i - 1])) continue;
    ++expected.total;
    if (all[i].has)
      ++expected.count;
    else
      expected.differing.push_back(DifferingOf(all[i]));
  }
}

std::string NoMajority(const Field& field) {
  std::vector<std::string> sides;
  for (const PeerGroup& group : field.groups) {
    if (!group.tied) continue;
    for (const auto& [value, members] : group.members) {
      std::vector<std::string> names;
      for (const Member& member : members) names.push_back(NameOf(member));
      sides.push_back(
          Format("{} on {}", group.reading->equality->show(value), rules::Listed(names)));
    }
  }
  return "no majority: " + rules::Listed(sides);
}

InferredField FieldOf(const fleet::FleetView& fleet, std::string_view name, const Field& field) {
  InferredField inferred{.field = name, .of_nodes = field.groups[0].reading->equality->of_nodes};
  if (field.expectations.empty()) {
    inferred.not_set_reason =
        field.tied ? NoMajority(field)
                   : Format("most have {}, which a profile cannot express", field.inexpressible);
    return inferred;
  }
  std::vector<MemberValue> all;
  for (const PeerGroup& group : field.groups)
    if (!group.tied)
      for (const auto& [value, members] : group.members)
        for (const Member& member : members) all.push_back({member, &group.line});
  const auto selected = SelectValues(fleet, all, inferred.of_nodes, field.tied);
  if (!selected) {
    std::vector<std::string> lines;
    for (const auto& [line, expect] : field.expectations) lines.push_back(line);
    inferred.not_set_reason =
        Format("selectors cannot separate these values: {}", Join(lines, ", "));
    return inferred;
  }
  for (const SelectedValue& value : *selected) {
    ExpectedValue& expected = inferred.values.emplace_back();
    expected.expect = field.expectations.at(*value.line);
    expected.where = value.where;
    Count(field, *value.line, value.where.empty(), expected);
  }
  if (field.tied && !inferred.values[0].where.empty()) inferred.not_set_reason = NoMajority(field);
  if (!field.inexpressible.empty() && inferred.not_set_reason.empty())
    inferred.not_set_reason =
        Format("where most have {}, which a profile cannot express", field.inexpressible);
  return inferred;
}

}  // namespace

std::vector<InferredField> InferFields(const fleet::FleetView& fleet) {
  std::vector<InferredField> fields;
  const std::vector<Reading> readings = Readings();
  for (std::size_t i = 0; i < readings.size();) {
    Field field;
    const std::string_view name = readings[i].field;
    for (; i < readings.size() && readings[i].field == name; ++i) Read(fleet, readings[i], field);
    if (!field.groups.empty()) fields.push_back(FieldOf(fleet, name, field));
  }
  return fields;
}

}  // namespace fabric::infer
