#include "agents/session/schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fabric::agent {
namespace {

using host::EventSet;

constexpr Duration kApartMin = std::chrono::milliseconds(100);
constexpr int kShareOfProcessor = 4;  // One part in four
constexpr Duration kLookAgainAfter[] = {std::chrono::milliseconds(100), std::chrono::seconds(1)};

}  // namespace

EventSet InspectionSchedule::Take(SteadyTime now) {
  const bool check = now >= check_at_;
  if (check) check_at_ = now + check_interval_;
  fresh_asked_ = !fresh_.empty() && (check || now >= not_before_);
  if (fresh_asked_) {
    again_ |= std::exchange(fresh_, {});
    looks_ = 0;
    again_at_ = now + kLookAgainAfter[0];
    return check ? EventSet::All() : again_;
  }
  if (!again_.empty() && now >= again_at_) {
    if (++looks_ == std::ssize(kLookAgainAfter)) {
      again_ = {};
      return EventSet::All();
    }
    again_at_ = now + kLookAgainAfter[looks_];
    return check ? EventSet::All() : again_;
  }
  return check ? EventSet::All() : EventSet();
}

void InspectionSchedule::OnInspected(SteadyTime begun, SteadyTime ended) {
  if (fresh_asked_) not_before_ = begun + std::max(kApartMin, kShareOfProcessor * (ended - begun));
}

SteadyTime InspectionSchedule::next() const {
  SteadyTime next = check_at_;
  if (!fresh_.empty()) next = std::min(next, not_before_);
  if (!again_.empty()) next = std::min(next, again_at_);
  return next;
}

}  // namespace fabric::agent
