// Simulated time: what happens next happens at once. One thread; events of the same moment come in
// the order in which they were made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace fabric::sim {

class EventQueue {
 public:
  using Act = std::function<void()>;

  Duration now() const { return now_; }

  void At(Duration when, Act act) {
    events_.push_back({std::max(when, now_), order_++, std::move(act)});
    std::push_heap(events_.begin(), events_.end(), Later);
  }
  void After(Duration delay, Act act) { At(now_ + delay, std::move(act)); }

  // The next event that is due until then. False: there is none, and it is `until` now.
  bool Step(Duration until) {
    if (events_.empty() || events_.front().at > until) {
      now_ = std::max(now_, until);
      return false;
    }
    std::pop_heap(events_.begin(), events_.end(), Later);
    Event event = std::move(events_.back());
    events_.pop_back();
    now_ = event.at;
    ++steps_;
    event.act();
    return true;
  }
  void RunUntil(Duration until) {
    while (Step(until)) {
    }
  }

  std::uint64_t steps() const { return steps_; }

 private:
  struct Event {
    Duration at;
    std::uint64_t order;
    Act act;
  };
  static bool Later(const Event& a, const Event& b) {
    return std::pair(a.at, a.order) > std::pair(b.at, b.order);
  }

  Duration now_{};
  std::uint64_t order_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<Event> events_;  // A heap
};

}  // namespace fabric::sim
