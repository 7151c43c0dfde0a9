#include "daemon/control/judgement.h"

#include <utility>

namespace fabric::control {
namespace {

// As many results say well enough what is usual; until there are as many, all are compared anew.
constexpr int kEqualsEnough = 1000;
// So often it is asked after each round. A culprit is known by then, or hides well.
constexpr int kAskedEachRound = 24;
// What it takes grows with these: about 4 us each, under the controller's lock, and 64 bytes. They
// are twelve rounds of 8,192 ports; what is still bad shows in the newest ones.
constexpr std::size_t kObservationsMax = 100'000;

}  // namespace

void Judgement::Add(v1::PairResult result) {
  // What nobody looks at here and what is large
  if (result.result().has_latency()) result.mutable_result()->mutable_latency()->clear_histogram();
  ++results_;
  *fresh_.Add() = std::move(result);
}

void Judgement::EndRound() {
  if (fresh_.size() < kEqualsEnough) return;
  const auto more = blame::ObservationsOf(fabric_, fresh_);
  observations_.insert(observations_.end(), more.begin(), more.end());
  fresh_.Clear();
  if (observations_.size() > kObservationsMax)
    observations_.erase(observations_.begin(),
                        observations_.end() - static_cast<std::ptrdiff_t>(kObservationsMax));
}

bool Judgement::Due(bool each_round) const {
  if (results_ == asked_at_) return false;
  if (!each_round) return results_ >= 2 * asked_at_;  // All in all no more than the last one costs
  return asked_ < kAskedEachRound || results_ >= asked_at_ + asked_at_ / 4;
}

blame::Standing Judgement::Stand(std::span<const std::uint32_t> usable,
                                 std::span<const v1::Finding> findings) {
  asked_at_ = results_;
  ++asked_;
  const std::size_t settled = observations_.size();
  const auto more = blame::ObservationsOf(fabric_, fresh_);
  observations_.insert(observations_.end(), more.begin(), more.end());
  blame::Standing standing = blame::Stand(fabric_, observations_, usable, findings);
  observations_.resize(settled);
  return standing;
}

}  // namespace fabric::control
