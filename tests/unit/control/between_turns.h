// A clock with which a test acts between turns of the controller.
#pragma once

#include <functional>

#include "base/clock.h"

namespace fabric::testing {

// Calls `act` before each turn of others, without the lock: a turn looks at the clock when it is
// requested, when it begins and when it ends.
class ActsBetweenTurns final : public Clock {
 public:
  std::function<void(int turn)> act;

  Moment Now() const override {
    if (acting_ || !act) return {};
    if (looks_++ % 3 == 0) {
      acting_ = true;
      act(looks_ / 3);
      acting_ = false;
    }
    return {};
  }

 private:
  mutable int looks_ = 0;
  mutable bool acting_ = false;
};

}  // namespace fabric::testing
