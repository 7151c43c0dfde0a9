#include "agents/rhythm.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fabric::agent {
namespace {

using host::EventSet;

constexpr Duration kApartMin = std::chrono::milliseconds(100);
constexpr int kShareOfProcessor = 20;  // One part in so many
constexpr Duration kLookAgainAfter[] = {std::chrono::milliseconds(100), std::chrono::seconds(1)};

}  // namespace

EventSet Rhythm::Take(SteadyTime now) {
  const bool check = now >= check_at_;
  checks_ = check;
  if (check) check_at_ = now + check_interval_;
  if (!check && now < not_before_) return {};

  const EventSet fresh = std::exchange(fresh_, {});
  if (!fresh.empty()) {
    again_ |= fresh;
    looks_ = 0;
    again_at_ = now + kLookAgainAfter[0];
    return check ? EventSet::All() : again_;
  }
  if (!again_.empty() && now >= again_at_) {
    const EventSet again = again_;
    if (++looks_ == std::ssize(kLookAgainAfter))
      again_ = {};
    else
      again_at_ = now + kLookAgainAfter[looks_];
    return check ? EventSet::All() : again;
  }
  return check ? EventSet::All() : EventSet();
}

void Rhythm::OnInspected(SteadyTime begun, SteadyTime ended) {
  not_before_ = begun + kApartMin;
  if (checks_) return;
  budget_ = std::min(kBudgetMax, budget_ + (ended - budget_at_) / kShareOfProcessor);
  budget_at_ = ended;
  budget_ -= ended - begun;
  if (budget_ < Duration::zero())
    not_before_ = std::max(not_before_, ended - kShareOfProcessor * budget_);
}

SteadyTime Rhythm::next() const {
  SteadyTime next = check_at_;
  if (!fresh_.empty()) next = std::min(next, not_before_);
  if (!again_.empty()) next = std::min(next, std::max(again_at_, not_before_));
  return next;
}

}  // namespace fabric::agent
