#include "agents/subnet/pace.h"

#include <algorithm>

namespace fabric::agent {
namespace {

constexpr std::uint32_t kDivisorMax = 8;
constexpr std::uint32_t kSample = 256;     // Requests
constexpr std::uint32_t kLossesMin = 3;    // In a sample of which they exceed 1 %
constexpr std::chrono::seconds kQuiet(5);  // Without such losses

}  // namespace

std::uint32_t Pace::Share(std::uint32_t limit) const {
  return std::max(limit / divisor_, 1U);
}

void Pace::Refill(SteadyTime now) {
  if (refilled_at_ == SteadyTime{}) refilled_at_ = changed_at_ = now;
  const double seconds = std::chrono::duration<double>(now - refilled_at_).count();
  // A burst fills the windows once.
  const double burst = limits_.smps + limits_.gmps;
  tokens_ = std::min(burst, tokens_ + seconds * per_second());
  refilled_at_ = now;
}

bool Pace::Take(SteadyTime now) {
  Refill(now);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

SteadyTime Pace::NextAt(SteadyTime now) const {
  if (tokens_ >= 1) return now;
  const std::chrono::duration<double> wait((1 - tokens_) / per_second());
  // At least a microsecond: rounding must not stop the time.
  return now + std::max<Duration>(std::chrono::duration_cast<Duration>(wait),
                                  std::chrono::microseconds(1));
}

void Pace::OnAnswer(SteadyTime now) {
  if (++answers_ + losses_ < kSample) return;
  answers_ = losses_ = 0;
  if (divisor_ == 1 || now - changed_at_ < kQuiet) return;
  divisor_ /= 2;
  changed_at_ = now;
}

void Pace::OnLoss(SteadyTime now) {
  ++losses_;
  if (losses_ < kLossesMin || losses_ * 100 <= std::min(answers_ + losses_, kSample)) return;
  Slower(now);
}

void Pace::OnDropped(SteadyTime now) {
  Slower(now);
}

void Pace::Slower(SteadyTime now) {
  divisor_ = std::min(divisor_ * 2, kDivisorMax);
  changed_at_ = now;
  answers_ = losses_ = 0;
}

}  // namespace fabric::agent
