// Who is judged, by what value, and beside whom: what rules that compare have in common.
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
  std::uint64_t part = 0;      // As `like`, and not shown
  friend auto operator<=>(const Group&, const Group&) = default;
};

std::optional<Group> ByRail(const Member& port);
std::optional<Group> ByRailAndModel(const Member& port);  // Nothing when the model is not known.
std::optional<Group> ByModel(const Member& port);
std::optional<Group> ByProduct(const Member& node);  // All nodes of an unknown product are like.
std::optional<Group> WholeFleet(const Member& member);

// "15 of 16". Of hundred and more "98 % of 16000+": findings of large fleets must not read
// differently each time when one more node joins or leaves those that they name.
std::string Share(std::uint64_t count, std::uint64_t of);
// Equal for equal texts.
std::uint64_t ShareKey(std::uint64_t count, std::uint64_t of);

}  // namespace fabric::rules
