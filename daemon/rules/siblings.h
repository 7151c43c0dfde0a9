// Comparison of the equal cards of one node, for rules with `single_node_only`. In a fleet the
// ports of a rail are compared instead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/rules/member.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::rules {

class Verdicts;

struct Sibling {
  std::string_view what;      // "netdev MTU"
  std::string_view key = {};  // Distinguishes several of one rule
  std::optional<std::uint64_t> (*value)(const fleet::PortView&) = nullptr;
  std::string (*show)(const Value&) = nullptr;
  std::string (*source)(const fleet::PortView&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const fleet::PortView&, std::uint64_t expected) = nullptr;
};

// Compares cards of one board (fleet::BoardOf). UNKNOWN for a card of unknown board and model among
// others that are known. A card fails only when at least four cards are compared and three quarters
// of them agree. Where some cards are near GPUs, compares only these: a storage card on the same
// board may have other settings.
void JudgeSiblings(const Sibling& sibling, const fleet::NodeView& node, Verdicts& out);

}  // namespace fabric::rules
