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

using Lines = std::map<Value, std::string>;  // Of a profile; empty: it cannot express the value

// One group of PeerGroups.
struct PeerGroup {
  const Reading* reading = nullptr;
  const std::map<Value, std::vector<std::size_t>>* members = nullptr;
  Lines* lines = nullptr;  // Of the reading
  bool tied = false;       // No majority
  std::string line = {};   // For the majority's value; empty: no profile can express it
};

struct Field {
  std::vector<PeerGroup> groups;
  std::map<std::string, v1::Expectations> expectations;  // By line
  bool tied = false;                                     // In some group
  std::string inexpressible;  // Value of a majority that no profile can express
  std::map<const Reading*, Lines> lines;
};

std::string PortOf(const fleet::PortView& view) {
  const v1::Port& port = *view.port;
  return port.has_netdev() ? port.netdev() : PortName(*view.device, port);
}

Peer PeerOf(const Member& member) {
  if (member.port == nullptr) return {.node = member.node->node->name};
  const fleet::PortView& port = *member.port;
  return {.node = member.node->node->name,
          .port = PortOf(port),
          .rail = port.rail->value(),
          .model = port.device->model(),
          .driver = port.device->driver()};
}

std::string NameOf(const Peer& peer) {
  return peer.port.empty() ? peer.node : Format("{} {}", peer.node, peer.port);
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
  for (const auto& [value, members] : *group.members) {
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

// Slow: parses a profile.
const std::string& ProfileLine(const PeerGroup& group, const Value& value) {
  const auto [at, added] = group.lines->try_emplace(value);
  if (!added) return at->second;
  if (const auto expect = ToExpectations(*group.reading, value)) at->second = LineOf(*expect);
  return at->second;
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

struct Counted {
  std::size_t peer = 0;
  bool has = false;  // The expected value
  const Reading* reading = nullptr;
  const Value* value = nullptr;

  auto Order() const { return std::tuple(peer, has); }
};

v1::DifferingValue DifferingOf(const Counted& counted, const Peer& peer) {
  v1::DifferingValue differing;
  differing.set_node(peer.node);
  differing.set_port(peer.port);
  differing.set_value(counted.reading->equality->show(*counted.value));
  return differing;
}

// Counts the members that the expected value applies to. A port can have several readings; it
// differs if one of them does.
void Count(const Field& field, const std::deque<Peer>& peers, const std::string& line,
           bool with_tied, ExpectedValue& expected) {
  std::vector<Counted> all;
  for (const PeerGroup& group : field.groups) {
    if (group.tied ? !with_tied : group.line != line) continue;
    for (const auto& [value, members] : *group.members) {
      const bool has = ProfileLine(group, value) == line;
      for (const std::size_t peer : members)
        all.push_back({.peer = peer, .has = has, .reading = group.reading, .value = &value});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Counted& a, const Counted& b) { return a.Order() < b.Order(); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].peer == all[i - 1].peer) continue;
    ++expected.total;
    if (all[i].has)
      ++expected.count;
    else
      expected.differing.push_back(DifferingOf(all[i], peers[all[i].peer]));
  }
}

std::string NoMajority(const Field& field, const std::deque<Peer>& peers) {
  std::vector<std::string> sides;
  for (const PeerGroup& group : field.groups) {
    if (!group.tied) continue;
    for (const auto& [value, members] : *group.members) {
      std::vector<std::string> names;
      for (const std::size_t peer : members) names.push_back(NameOf(peers[peer]));
      sides.push_back(
          Format("{} on {}", group.reading->equality->show(value), rules::Listed(names)));
    }
  }
  return "no majority: " + rules::Listed(sides);
}

InferredField FieldOf(const std::vector<std::string>& nodes, const std::deque<Peer>& peers,
                      std::string_view name, const Field& field) {
  InferredField inferred{.field = name, .of_nodes = field.groups[0].reading->equality->of_nodes};
  if (field.expectations.empty()) {
    inferred.not_set_reason =
        field.tied ? NoMajority(field, peers)
                   : Format("most have {}, which a profile cannot express", field.inexpressible);
    return inferred;
  }
  std::vector<MemberValue> all;
  for (const PeerGroup& group : field.groups)
    if (!group.tied)
      for (const auto& [value, members] : *group.members)
        for (const std::size_t peer : members) all.push_back({&peers[peer], &group.line});
  const auto selected = SelectValues(nodes, all, inferred.of_nodes, field.tied);
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
    Count(field, peers, *value.line, value.where.empty(), expected);
  }
  if (field.tied && !inferred.values[0].where.empty())
    inferred.not_set_reason = NoMajority(field, peers);
  if (!field.inexpressible.empty() && inferred.not_set_reason.empty())
    inferred.not_set_reason =
        Format("where most have {}, which a profile cannot express", field.inexpressible);
  return inferred;
}

}  // namespace

FieldValues::FieldValues() : readings_(Readings()), values_(readings_.size()) {}

void FieldValues::Take(std::size_t reading, const Member& member, std::size_t peer) {
  const rules::EqualityRule& equality = *readings_[reading].equality;
  auto value = equality.value(member);
  if (!value) return;
  Group group = GroupOf(equality, member);
  group.like = Kept(group.like);
  value->text = Kept(value->text);
  values_[reading][group][*value].push_back(peer);
}

void FieldValues::Add(const fleet::NodeView& node) {
  const std::size_t first = peers_.size();
  nodes_.push_back(node.node->name);
  peers_.push_back(PeerOf({.node = &node}));
  for (const fleet::PortView& port : node.ports)
    if (port.rail) peers_.push_back(PeerOf({.node = &node, .port = &port}));
  fabric_ports_ += peers_.size() - first - 1;
  for (std::size_t reading = 0; reading < readings_.size(); ++reading) {
    if (HasIdleParts(readings_[reading].field, node)) continue;
    if (readings_[reading].equality->of_nodes) {
      Take(reading, {.node = &node}, first);
      continue;
    }
    std::size_t peer = first;
    for (const fleet::PortView& port : node.ports)
      if (port.rail) Take(reading, {.node = &node, .port = &port}, ++peer);
  }
}

std::vector<InferredField> FieldValues::Infer() const {
  std::vector<InferredField> fields;
  for (std::size_t i = 0; i < readings_.size();) {
    Field field;
    const std::string_view name = readings_[i].field;
    for (; i < readings_.size() && readings_[i].field == name; ++i) {
      Lines& lines = field.lines[&readings_[i]];
      for (const auto& [key, members] : values_[i]) {
        PeerGroup group{.reading = &readings_[i], .members = &members, .lines = &lines};
        if (Decide(group, field)) field.groups.push_back(std::move(group));
      }
    }
    if (!field.groups.empty()) fields.push_back(FieldOf(nodes_, peers_, name, field));
  }
  return fields;
}

}  // namespace fabric::infer
