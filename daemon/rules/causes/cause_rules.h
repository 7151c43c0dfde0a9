// Cause rules: which rule's finding explains which other rule's finding. Constants for
// cause_graph.h.
//
// A row exists where the cause alone is sufficient for the effect, by how the hardware works. What
// can as well be another fault has no row: log lines, which can be a day old, explain other lines
// only, or the state that their rule looks at. What a rule skips because another rule reports it
// (rule.h) needs no row.
#pragma once

#include <span>
#include <string_view>

namespace fabric::rules {

// Where the cause is, relative to the port or device that it explains.
enum class Where {
  kPort,  // The same port or link, all links of the node, or the whole switch
  kCard,  // A device or port of the same card
  kNode,  // The node itself, unless another node has the same finding without the effect
  kPeer,  // The only port of the same switch that has the finding; with several, the only one on
          // the same rail; without a known switch, the only one of the rail
};

struct CauseRule {
  std::string_view why;  // A sentence without a full stop
  Where where = Where::kPort;
  std::span<const std::string_view> causes;  // The first one that exists counts
  std::span<const std::string_view> effects;
  // When set, only effects with evidence of this counter, by its neutral name.
  std::string_view counter = {};
  std::string_view cause_counter = {};  // The same for causes
};

// The first row that matches counts. No rule explains itself, directly or through others.
std::span<const CauseRule> CauseRules();

}  // namespace fabric::rules
