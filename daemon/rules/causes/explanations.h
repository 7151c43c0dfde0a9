// Which rule's finding explains which other's: the declared half of explains.h. Constants.
//
// A row is there where the cause alone is enough for the effect, by how the hardware works. What
// may as well be another fault has no row: lines of the log, which are up to a day old, explain
// nothing, and what a rule leaves alone by itself (rule.h) needs no row.
#pragma once

#include <span>
#include <string_view>

namespace fabric::rules {

// Where the cause is, seen from the port or device that it explains.
enum class Where {
  kPort,  // The same port or its link, all links of the node, the whole switch
  kCard,  // A device or port of the same card
  kNode,  // The node as a whole; only while no other node has the same, which would show that it
          // is not enough
  kPeer,  // The one port of the same switch that has it; with several, the one on the same rail;
          // where no switch is known, the one of the rail
};

struct Explanation {
  std::string_view why;  // A sentence without a full stop
  Where where = Where::kPort;
  std::span<const std::string_view> causes;  // Of several that are there the first counts
  std::span<const std::string_view> effects;
  // Only where the explained finding is of this counter, by its neutral name.
  std::string_view counter = {};
};

// No rule explains itself, directly or through others. Of several rows that fit the first counts.
std::span<const Explanation> Explanations();

}  // namespace fabric::rules
