// Members, values and groups of rules that compare.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/fleet/fleet_view.h"

namespace fabric::rules {

// A port of a node, or the node as a whole.
struct Member {
  const fleet::NodeView* node = nullptr;
  const fleet::PortView* port = nullptr;  // nullptr: the node

  const v1::NodeSnapshot& snapshot() const { return node->node->snapshot; }
  const fleet::Expectation& expectation() const {
    return port != nullptr ? *port->expectation : *node->expectation;
  }
};

// A number, or a text that borrows the snapshot.
struct Value {
  std::uint64_t number = 0;
  std::string_view text = {};
  friend auto operator<=>(const Value&, const Value&) = default;
};

// Members of one group are compared with each other.
struct Group {
  std::optional<std::uint32_t> rail;
  std::string_view like = {};  // "ConnectX-7"; shown in findings
  std::uint64_t part = 0;      // Not shown in findings
  friend auto operator<=>(const Group&, const Group&) = default;
};

std::optional<Group> ByRail(const Member& port);
std::optional<Group> ByRailAndModel(const Member& port);  // No value when the card is unknown
std::optional<Group> ByProduct(const Member& node);       // An unknown product is a group as well
std::optional<Group> WholeFleet(const Member& member);

// "15 of 16"; from 100 up "98 % of 16000+", so that findings of large fleets do not change their
// text whenever a node joins or leaves.
std::string Share(std::uint64_t count, std::uint64_t of);
// Equal when the texts of Share() are equal.
std::uint64_t ShareKey(std::uint64_t count, std::uint64_t of);

}  // namespace fabric::rules
