// Rules of the kind "like ports (or nodes) have the same value". What a profile expects is
// expected; without one what most of the like have. When the largest camps are equally large,
// the group is reported as one that disagrees, and nobody is blamed.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

class Verdicts;

// A port of a node, or the node as a whole.
struct Member {
  const fleet::NodeView* node = nullptr;
  const fleet::PortView* port = nullptr;  // nullptr: the node

  const v1::NodeSnapshot& snapshot() const { return node->node->snapshot; }
  const fleet::Expectation& expectation() const {
    return port != nullptr ? *port->expectation : *node->expectation;
  }
};

// A number, or a text that belongs to the snapshot.
struct Value {
  std::uint64_t number = 0;
  std::string_view text = {};
  friend auto operator<=>(const Value&, const Value&) = default;
};

// Who is like whom.
struct Group {
  std::optional<std::uint32_t> rail;
  std::string_view like = {};  // "ConnectX-7": shown; only those with the same are compared
  friend auto operator<=>(const Group&, const Group&) = default;
};

std::optional<Group> ByRail(const Member& port);
std::optional<Group> ByRailAndModel(const Member& port);  // Nothing when the model is not known.
std::optional<Group> ByModel(const Member& port);
std::optional<Group> ByProduct(const Member& node);  // All nodes of an unknown product are like.
std::optional<Group> WholeFleet(const Member& member);

std::string ShowNumber(const Value& value);
std::string ShowText(const Value& value);
std::string ShowPriorities(const Value& value);  // Of a mask: "3,4", "none"
std::string ShowOnOff(const Value& value);

struct Agreement {
  std::string_view what;                                  // "netdev MTU"
  std::string_view key = {};                              // Where a rule has several
  bool of_nodes = false;                                  // Else of ports
  std::optional<Group> (*group)(const Member&) = ByRail;  // Nothing: not compared with anybody
  // Nothing: takes no part; UNKNOWN when `needed` says so.
  std::optional<Value> (*value)(const Member&) = nullptr;
  bool (*needed)(const Member&) = nullptr;
  // What a profile says; nullptr: profiles say nothing of it.
  std::optional<Value> (*expected)(const v1::Expectations&) = nullptr;
  std::string (*show)(const Value&) = ShowNumber;
  std::string (*source)(const Member&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const Member&, const Value& expected) = nullptr;
  // More evidence on one that deviates beside one that is as expected; may be nullptr.
  void (*more)(const Member&, const Member& good, std::vector<v1::Evidence>&) = nullptr;
};

// One finding for each member that deviates; one of the rail (or the fleet) without a majority.
void Judge(const Agreement& agreement, const fleet::FleetView& fleet, Verdicts& out);

}  // namespace fabric::rules
