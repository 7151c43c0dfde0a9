// How far a campaign is, and how long it will take. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "daemon/plan/rounds.h"

namespace fabric::control {

// Rounds take about the same time each, however many pairs they have, until they have more than may
// run at once: a round counts as many times as that number goes into its pairs.
class Progress {
 public:
  Progress() = default;
  Progress(const plan::Rounds& rounds, std::uint32_t pairs_at_once);

  // `planned`: of the plan, and not one in addition.
  void BeginRound(std::size_t pairs, bool planned, Moment now);
  void EndPair();
  void EndRound(Moment now);

  // Absent until enough was done to tell: a whole round, or a second and a tenth of the first one.
  std::optional<double> RemainingSeconds(Moment now) const;

 private:
  double Weight(std::size_t pairs) const;

  std::uint32_t pairs_at_once_ = 0;
  double planned_ = 0;                       // Weight of all rounds of the plan that have not begun
  double done_ = 0;                          // Of those that have ended
  double round_ = 0;                         // Of the one that runs
  std::size_t pairs_ = 0, pairs_ended_ = 0;  // Of that
  Duration before_ = {};                     // That rounds took which have ended
  std::optional<SteadyTime> begun_;          // Of the one that runs
};

}  // namespace fabric::control
