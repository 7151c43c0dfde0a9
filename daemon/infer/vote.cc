#include "daemon/infer/vote.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "daemon/infer/where.h"
#include "daemon/rules/facts.h"

namespace fabric::infer {
namespace {

using rules::Group;
using rules::Member;
using rules::Value;

// Those that are like each other, as one reading sees them.
struct Like {
  const Reading* reading = nullptr;
  std::map<Value, std::vector<Member>> camps;
  bool tied = false;  // There is no majority
  std::string said;   // Line of a profile for what most have; empty: no profile can say that
};

struct Field {
  std::vector<Like> likes;
  std::map<std::string, v1::Expectations> sayings;  // By line
  bool tied = false;
  std::string unsaid;  // What most have and no profile can say
};

std::string NameOf(const Member& member) {
  if (member.port == nullptr) return member.node->node->name;
  const v1::Port& port = *member.port->port;
  if (port.has_netdev()) return Format("{} {}", member.node->node->name, port.netdev());
  return Format("{} {}/{}", member.node->node->name, member.port->device->name(), port.number());
}

Group GroupOf(const rules::EqualityRule& equality, const Member& member) {
  if (const auto group = equality.group(member)) return *group;
  // Compared with nobody by the rules, but a profile would hold for it too.
  if (member.port == nullptr || !member.port->rail) return {};
  return {.rail = member.port->rail->value()};
}

// The value that more have than any other one; nullptr: there is none.
const Value* MajorityOf(const Like& like) {
  const Value* most = nullptr;
  std::size_t count = 0, all = 0;
  for (const auto& [value, members] : like.camps) {
    all += members.size();
    if (members.size() == count) most = nullptr;
    if (members.size() <= count) continue;
    most = &value;
    count = members.size();
  }
  return like.reading->equality->needs_absolute_majority && 2 * count <= all ? nullptr : most;
}

// False when the like tell too little.
bool Decide(Like& like, Field& field) {
  const Value* const most = MajorityOf(like);
  like.tied = most == nullptr;
  field.tied = field.tied || like.tied;
  if (like.tied) return true;
  bool ambiguous = false;
  const auto saying = Saying(*like.reading, *most, &ambiguous);
  if (ambiguous) return false;
  if (!saying) {
    field.unsaid = like.reading->equality->show(*most);
    return true;
  }
  like.said = LineOf(*saying);
  field.sayings.emplace(like.said, *saying);
  return true;
}

void Read(const fleet::FleetView& fleet, const Reading& reading, Field& field) {
  const rules::EqualityRule& equality = *reading.equality;
  std::map<Group, Like> likes;
  const auto take = [&](const Member& member) {
    if (const auto value = equality.value(member))
      likes[GroupOf(equality, member)].camps[*value].push_back(member);
  };
  for (const fleet::NodeView& node : fleet.nodes()) {
    if (equality.of_nodes) {
      take({.node = &node});
      continue;
    }
    for (const fleet::PortView& port : node.ports)
      if (port.rail) take({.node = &node, .port = &port});
  }
  for (auto& [group, like] : likes) {
    like.reading = &reading;
    if (Decide(like, field)) field.likes.push_back(std::move(like));
  }
}

// One that was counted.
struct Seen {
  Member member;
  bool has = false;
  const Like* like = nullptr;
  const Value* value = nullptr;

  auto Order() const { return std::tuple(member.node, member.port, has); }
  bool IsOf(const Seen& other) const {
    return member.node == other.member.node && member.port == other.member.port;
  }
};

// Counts those of a choice and names who differs. A port may be read in several ways: it differs
// when one of them does.
void Count(const Field& field, const std::string& said, bool with_tied, Choice& choice) {
  std::vector<Seen> all;
  for (const Like& like : field.likes) {
    if (like.tied ? !with_tied : like.said != said) continue;
    for (const auto& [value, members] : like.camps) {
      const auto saying = Saying(*like.reading, value);
      const bool has = saying && LineOf(*saying) == said;
      for (const Member& member : members)
        all.push_back({.member = member, .has = has, .like = &like, .value = &value});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Seen& a, const Seen& b) { return a.Order() < b.Order(); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].IsOf(all[i - 1])) continue;
    ++choice.of;
    if (all[i].has)
      ++choice.having;
    else
      choice.differing.push_back(Format("{}: {}", NameOf(all[i].member),
                                        all[i].like->reading->equality->show(*all[i].value)));
  }
}

std::string Disagreement(const Field& field) {
  std::vector<std::string> sides;
  for (const Like& like : field.likes) {
    if (!like.tied) continue;
    for (const auto& [value, members] : like.camps) {
      std::vector<std::string> names;
      for (const Member& member : members) names.push_back(NameOf(member));
      sides.push_back(
          Format("{} on {}", like.reading->equality->show(value), rules::Listed(names)));
    }
  }
  return "no majority: " + rules::Listed(sides);
}

// Which saying holds where, as far as selectors can tell.
Outcome Settle(const fleet::FleetView& fleet, std::string_view name, const Field& field) {
  Outcome outcome{.field = name, .of_nodes = field.likes[0].reading->equality->of_nodes};
  if (field.sayings.empty()) {
    outcome.left_out = field.tied ? Disagreement(field)
                                  : Format("most have {}, which no profile can say", field.unsaid);
    return outcome;
  }
  std::vector<Ballot> ballots;
  for (const Like& like : field.likes)
    if (!like.tied)
      for (const auto& [value, members] : like.camps)
        for (const Member& member : members) ballots.push_back({member, &like.said});
  const auto places = Tell(fleet, ballots, outcome.of_nodes, field.tied);
  if (!places) {
    std::vector<std::string> lines;
    for (const auto& [line, expect] : field.sayings) lines.push_back(line);
    outcome.left_out = Format("it depends on more than selectors can tell: {}", Join(lines, ", "));
    return outcome;
  }
  for (const Place& place : *places) {
    Choice& choice = outcome.choices.emplace_back();
    choice.expect = field.sayings.at(*place.said);
    choice.where = place.where;
    Count(field, *place.said, place.where.empty(), choice);
  }
  if (field.tied && outcome.choices[0].where.size() > 0) outcome.left_out = Disagreement(field);
  if (!field.unsaid.empty() && outcome.left_out.empty())
    outcome.left_out = Format("where most have {}, which no profile can say", field.unsaid);
  return outcome;
}

}  // namespace

std::vector<Outcome> Vote(const fleet::FleetView& fleet) {
  std::vector<Outcome> outcomes;
  const std::vector<Reading> readings = Readings();
  for (std::size_t i = 0; i < readings.size();) {
    Field field;
    const std::string_view name = readings[i].field;
    for (; i < readings.size() && readings[i].field == name; ++i) Read(fleet, readings[i], field);
    if (!field.likes.empty()) outcomes.push_back(Settle(fleet, name, field));
  }
  return outcomes;
}

}  // namespace fabric::infer
