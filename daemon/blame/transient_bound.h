// Weight of one event that may have a transient cause, such as a paused host or a burst.
#pragma once

#include <algorithm>
#include <cmath>

namespace fabric::blame {

// Log odds of "a transient cause, with this probability" to "no cause". `most`: the log odds of the
// transient cause that explains the event best.
inline double LogOddsOfChance(double most, double transient) {
  return most <= 0 ? 0 : std::log1p(transient * std::expm1(std::min(most, 300.0)));
}

// Log odds of a hypothesis to chance for one event. `gain`: of the hypothesis alone, to a healthy
// fabric. `both`: of the hypothesis and a transient cause together, at most `most`. A hypothesis
// does not exclude a transient cause: an event that has nothing to do with it speaks neither for
// it nor against it.
inline double AgainstTransient(double gain, double both, double most, double transient) {
  if (most <= 0) return gain;
  const double with = both + std::log(transient);
  const double larger = std::max(gain, with);
  const double sum = larger + std::log1p(std::exp(std::min(gain, with) - larger));
  return sum - std::max(LogOddsOfChance(most, transient), most + std::log(transient));
}

}  // namespace fabric::blame
