#include "daemon/control/campaigns/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace fabric::control {
namespace {

constexpr double kPartOfFirstRound = 0.1;
constexpr double kSecondsOfFirstRound = 1;

}  // namespace

Progress::Progress(const plan::Rounds& rounds, std::uint32_t pairs_at_once)
    : pairs_at_once_(std::max(pairs_at_once, 1u)) {
  for (std::size_t round = 0; round < rounds.size(); ++round)
    planned_ += Weight(rounds.PairsAtMost(round));
}

double Progress::Weight(std::size_t pairs) const {
  return std::ceil(static_cast<double>(pairs) / pairs_at_once_);
}

void Progress::BeginRound(std::size_t pairs, bool planned, Moment now) {
  round_ = Weight(pairs);
  if (!planned) planned_ += round_;
  pairs_ = pairs;
  pairs_ended_ = 0;
  begun_ = now.steady;
}

void Progress::EndPair() {
  ++pairs_ended_;
}

void Progress::EndRound(Moment now) {
  if (!begun_) return;
  before_ += now.steady - *begun_;
  done_ += round_;
  planned_ = std::max(0.0, planned_ - round_);
  begun_.reset();
}

std::optional<double> Progress::RemainingSeconds(Moment now) const {
  using Seconds = std::chrono::duration<double>;
  double done = done_;
  double left = planned_;
  double seconds = Seconds(before_).count();
  if (begun_) {
    const double part =
        pairs_ == 0 ? 1 : static_cast<double>(pairs_ended_) / static_cast<double>(pairs_);
    done += part * round_;
    left -= part * round_;
    seconds += Seconds(now.steady - *begun_).count();
    const bool early = part < kPartOfFirstRound || seconds < kSecondsOfFirstRound;
    if (done_ == 0 && early) return std::nullopt;
  }
  if (done <= 0) return std::nullopt;
  return std::max(0.0, left) * seconds / done;
}

}  // namespace fabric::control
