#include "daemon/blame/slow_periods.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "daemon/blame/transients.h"

namespace fabric::blame {
namespace {

constexpr double kNever = -1e18;
constexpr double kForever = 1e18;

// Probability of a slow period with bad probes during a campaign.
double ProbabilityOf(Channel channel) {
  return channel == Channel::kLoss ? 0.01 : 0.05;
}

using ProbedPair = SlowPeriods::ProbedPair;

bool IsBefore(const ProbedPair& a, const ProbedPair& b) {
  if (a.round != b.round) return a.round < b.round;
  return a.low != b.low ? a.low < b.low : a.high < b.high;
}

std::vector<ProbedPair> PairsOf(const ObservationPaths& paths, const ExplainedLevels& levels,
                                std::span<const std::uint32_t> observations) {
  std::vector<ProbedPair> pairs;
  const auto add = [&](const ProbedPair& pair) {
    if (pairs.empty() || !pairs.back().IsSame(pair)) return pairs.push_back(pair);
    ProbedPair& known = pairs.back();
    known.began_s = std::min(known.began_s, pair.began_s);
    known.bad = known.bad || pair.bad;
    known.clearly = known.clearly || pair.clearly;
    known.unexplained += pair.unexplained;
  };
  for (const std::uint32_t i : observations) {
    const Observation& seen = paths.observations()[i];
    if (!levels.Has(i) || seen.failed_end) continue;
    const double unexplained = levels.Unexplained(i);
    add({.round = seen.round,
         .low = std::min(seen.from, seen.to),
         .high = std::max(seen.from, seen.to),
         .began_s = seen.began_s,
         .bad = levels.Badness(i) > levels.BadMin(i),
         .clearly = unexplained > kTransientBad && !levels.Noisy(i),
         .unexplained = unexplained});
  }
  std::sort(pairs.begin(), pairs.end(), IsBefore);
  const std::vector<ProbedPair> sorted = std::move(pairs);
  pairs.clear();
  for (const ProbedPair& pair : sorted) add(pair);
  return pairs;
}

// Log of the probability of these numbers, if each rate is equally likely.
double LogEvidence(std::size_t bad, std::size_t good) {
  int sign = 0;  // std::lgamma writes a global variable.
  const auto log_factorial = [&](std::size_t n) {
    return lgamma_r(static_cast<double>(n) + 1, &sign);
  };
  return log_factorial(bad) + log_factorial(good) - log_factorial(bad + good + 1);
}

std::size_t CountIn(const std::vector<double>& times, double from_s, double to_s) {
  return static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), to_s) -
                                  std::lower_bound(times.begin(), times.end(), from_s));
}

}  // namespace

SlowPeriods::SlowPeriods(const ObservationPaths& paths, const ExplainedLevels& levels)
    : paths_(paths), channel_(levels.channel()) {
  std::vector<std::uint32_t> all(paths.observations().size());
  std::iota(all.begin(), all.end(), 0U);
  for (const ProbedPair& pair : PairsOf(paths, levels, all)) {
    if (!pair.bad) good_.push_back(pair.began_s);
    if (pair.clearly) unexplained_.push_back(pair.began_s);
  }
  std::sort(good_.begin(), good_.end());
  std::sort(unexplained_.begin(), unexplained_.end());
}

SlowPeriods::Period SlowPeriods::PeriodOf(std::span<const ProbedPair> bad,
                                          const std::vector<double>& through,
                                          double transient) const {
  const double from_s = bad.front().began_s;
  const double to_s = bad.back().began_s;
  const std::size_t passed = CountIn(through, from_s, to_s);
  const std::size_t good = std::max(passed, CountIn(good_, from_s, to_s));
  const std::size_t more = CountIn(unexplained_, from_s, to_s);
  // The part makes a share of its own probes bad; a slow period, the same share of all.
  const double against = LogEvidence(bad.size(), passed) - LogEvidence(bad.size() + more, good);
  Period period;
  period.against =
      against - std::log(ProbabilityOf(channel_)) + static_cast<double>(more) * std::log(transient);
  for (const ProbedPair& pair : bad)
    period.against_chance += std::min(pair.unexplained, -std::log(transient));
  return period;
}

SlowPeriods::Explanation SlowPeriods::Explain(const Component& component,
                                              std::span<const std::uint32_t> bad,
                                              const ExplainedLevels& levels,
                                              const Odds& odds) const {
  Explanation result{.log_odds = kNever};
  // An end that failed by itself was not slow. Of unknown times, no period is known.
  for (const std::uint32_t i : bad)
    if (paths_.observations()[i].failed_end || paths_.observations()[i].began_s == 0) return result;
  std::vector<ProbedPair> pairs = PairsOf(paths_, levels, bad);
  std::sort(pairs.begin(), pairs.end(),
            [](const ProbedPair& a, const ProbedPair& b) { return a.began_s < b.began_s; });
  std::vector<double> through;  // Good ones
  for (const ProbedPair& pair : PairsOf(paths_, levels, paths_.Through(component)))
    if (!pair.bad) through.push_back(pair.began_s);
  std::sort(through.begin(), through.end());
  std::vector<Period> periods;
  double against_chance = 0;
  for (std::size_t begin = 0; begin < pairs.size();) {
    std::size_t end = begin;
    while (end < pairs.size() && pairs[end].began_s < pairs[begin].began_s + kSlowPeriodMaxS) ++end;
    periods.push_back(
        PeriodOf(std::span(pairs).subspan(begin, end - begin), through, odds.transient));
    against_chance += periods.back().against_chance;
    result.last_s = pairs[begin].began_s;
    begin = end;
  }
  // The score of the component counts more than its clearly bad observations.
  const double scale = std::max(1.0, (odds.against_chance - odds.log_prior) / against_chance);
  double sum = odds.log_prior;
  for (const Period& period : periods)
    sum += std::max(0.0, std::min(scale * period.against_chance, period.against));
  result.log_odds = -sum;
  result.periods = periods.size();
  result.pairs = pairs.size();
  result.since = CountIn(through, result.last_s + kSlowPeriodMaxS, kForever);
  return result;
}

}  // namespace fabric::blame
