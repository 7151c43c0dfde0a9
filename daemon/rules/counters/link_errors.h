// Error rates of a link, and the limits above which a link is bad.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/rules/counters/rates.h"

namespace fabric::rules {

// A counter of the link above its limit.
struct LinkError {
  Count count = {};
  CounterIncrease increase;
  std::uint64_t limit_per_hour = 0;
  bool of_profile = false;
};

// All counters of a port above their limits. Empty for a port that went down and came back: a link
// counts errors until it is trained, and link_stays_up reports it.
std::vector<LinkError> LinkErrors(const fleet::PortView& port);

// The link went down at least twice within an hour, and at least five times a day.
bool IsFlapping(const fleet::PortView& port);

// A rule on the link reports the port. Lost or late packets are a consequence.
bool HasBadLink(const fleet::PortView& port);

}  // namespace fabric::rules
