// Progress of a campaign and its remaining time. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "daemon/plan/rounds.h"

namespace fabric::control {

// A round takes about the same time for any number of pairs up to the maximum of concurrent pairs;
// a larger round counts as a multiple of it.
class Progress {
 public:
  Progress() = default;
  Progress(const plan::Rounds& rounds, std::uint32_t pairs_at_once);

  // `planned`: of the plan, and not one in addition.
  void BeginRound(std::size_t pairs, bool planned, Moment now);
  void EndPair();
  void EndRound(Moment now);

  // Absent until a whole round, or one second and a tenth of the first round, is done.
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
