// Where one machine is judged alone, its equal cards are compared with each other. In a fleet this
// says nothing: there the ports of a rail are compared.
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
  std::string_view key = {};  // Where a rule has several
  std::optional<std::uint64_t> (*value)(const fleet::PortView&) = nullptr;
  std::string (*show)(const Value&) = nullptr;
  std::string (*source)(const fleet::PortView&) = nullptr;
  std::vector<v1::Remedy> (*remedies)(const fleet::PortView&, std::uint64_t expected) = nullptr;
};

// Cards with one board id, or of one model where there is none; three fourths of at least four must
// agree before one is called wrong. Where some are near GPUs, only these: a card of the same board
// for storage may be set otherwise.
void JudgeSiblings(const Sibling& sibling, const fleet::NodeView& node, Verdicts& out);

}  // namespace fabric::rules
