// Errors of links in motion, and how many are too many.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/rules/counters/moving.h"

namespace fabric::rules {

// A counter of the link above its limit.
struct LinkError {
  Count count = {};
  CounterIncrease move;
  std::uint64_t limit_per_hour = 0;
  bool of_profile = false;
};

// All of a port. A link that went down and came back counts errors while it does: such a port has
// none, link_stays_up reports it.
std::vector<LinkError> LinkErrors(const fleet::PortView& port);

// The link went down at least twice within an hour, and at least five times a day.
bool IsFlapping(const fleet::PortView& port);

// Packets are lost or late for a reason that a rule on the link reports.
bool HasBadLink(const fleet::PortView& port);

}  // namespace fabric::rules
