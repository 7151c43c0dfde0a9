// Short periods in which all machines are slow: any pair can be late or slow, or lose packets.
//
// Such a period is one event, however many rounds and pairs it has. If few pairs are probed at a
// time, those of the period can share a part by chance. Good probes of other parts in the same
// period speak against it, and so does a part that is bad again later.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/blame/scorer.h"

namespace fabric::blame {

// A longer bad period is none of this kind. Slow for two seconds; the probes that began before it
// ended are bad as well.
inline constexpr double kSlowPeriodMaxS = 3;

// Borrows its arguments.
class SlowPeriods {
 public:
  // `levels`: with all faults that were found.
  SlowPeriods(const ObservationPaths& paths, const ExplainedLevels& levels);

  struct Odds {
    double log_prior = 0;       // Of the component
    double against_chance = 0;  // With the prior
    double transient = 0;       // As Scorer::transient()
  };
  struct Explanation {
    double log_odds = 0;      // To the bad component
    std::size_t periods = 0;  // 0: not possible
    double last_s = 0;        // Start of the last one
    std::size_t pairs = 0;    // Bad ones, once for each round
    std::size_t since = 0;    // Good ones that passed the component after it
  };
  // How well slow periods alone explain the `bad` observations, which the component explains.
  // `levels`: without the component.
  Explanation Explain(const Component& component, std::span<const std::uint32_t> bad,
                      const ExplainedLevels& levels, const Odds& odds) const;

  // The probes of a pair in one round.
  struct ProbedPair {
    std::uint32_t round = 0;
    std::uint32_t low = 0;  // Endpoints
    std::uint32_t high = 0;
    double began_s = 0;
    bool bad = false;
    bool clearly = false;    // Bad without a known cause
    double unexplained = 0;  // Log odds of a cause to none

    bool IsSame(const ProbedPair& other) const {
      return round == other.round && low == other.low && high == other.high;
    }
  };

 private:
  // Log odds of a bad component.
  struct Period {
    double against_chance = 0;
    double against = 0;  // A slow period
  };
  // `bad`: by time. `through`: times of good pairs that pass the component.
  Period PeriodOf(std::span<const ProbedPair> bad, const std::vector<double>& through,
                  double transient) const;

  // Good pairs of a round, or bad ones without a known cause: start times, ascending.
  std::vector<double> good_;
  std::vector<double> unexplained_;
  const ObservationPaths& paths_;
  const Channel channel_;
};

}  // namespace fabric::blame
