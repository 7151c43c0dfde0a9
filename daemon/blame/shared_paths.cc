#include "daemon/blame/shared_paths.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/blame/fault.h"
#include "daemon/blame/transients.h"

namespace fabric::blame {
namespace {

// Before any probe: how much likelier shared paths are than a slow path of one leaf.
constexpr double kSharedPrior = 3;

struct Rate {
  double bad = 0;
  double all = 0;
};

double LogGamma(double value) {
  int sign = 0;
  return lgamma_r(value, &sign);  // std::lgamma writes a global variable.
}

// Log probability of the observed series if each rate is equally likely.
double LogEvidence(const Rate& rate) {
  return LogGamma(rate.bad + 1) + LogGamma(rate.all - rate.bad + 1) - LogGamma(rate.all + 2);
}

// Another fault of the ends of the flow, which has nothing to do with its path.
bool HasSlowEnd(const ObservationPaths& paths, std::span<const Hypothesis> chosen,
                std::uint32_t observation) {
  return std::any_of(chosen.begin(), chosen.end(), [&](const Hypothesis& one) {
    return (MayPause(one.component) || one.fit.share == 0) &&
           paths.Passes(one.component, observation);
  });
}

Component AllPathsAround(const ObservationPaths& paths, const Component& uplink) {
  const auto ports = paths.EndpointsUnder(uplink.first);
  const std::uint32_t rail = ports.empty() ? kUnknown : paths.RailOf(ports.front());
  return {ComponentKind::kSpine, rail == kUnknown ? kEverywhere : rail};
}

}  // namespace

double LogOddsOfSharedPaths(const ObservationPaths& paths, const ExplainedLevels& levels,
                            const Hypothesis& uplink, std::span<const Hypothesis> chosen) {
  // The flows of a pair in one round are one event.
  using Event = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  struct Seen {
    bool through = false;
    bool bad = false;
  };
  std::map<Event, Seen> events;
  for (const std::uint32_t i : paths.Through(AllPathsAround(paths, uplink.component))) {
    if (!levels.Has(i) || HasSlowEnd(paths, chosen, i)) continue;
    const Observation& one = paths.observations()[i];
    const auto [low, high] = std::minmax(one.from, one.to);
    Seen& seen = events[{one.round, low, high}];
    seen.through = paths.Passes(uplink.component, i);
    seen.bad = seen.bad || levels.Badness(i) > kTransientBad;
  }
  Rate through;
  Rate others;
  for (const auto& [event, seen] : events) {
    Rate& rate = seen.through ? through : others;
    ++rate.all;
    rate.bad += seen.bad ? 1 : 0;
  }
  const Rate together{through.bad + others.bad, through.all + others.all};
  if (through.bad * others.all <= others.bad * through.all)
    return std::log(kSharedPrior) +
           std::max(0.0, LogEvidence(together) - LogEvidence(through) - LogEvidence(others));
  return std::log(kSharedPrior) + LogEvidence(together) - LogEvidence(through) -
         LogEvidence(others);
}

}  // namespace fabric::blame
