// What the mesh may cost: a part of one core, of which little can be saved up. What was spent
// beyond that is owed, and nothing is to be begun until it is paid. Pure.
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace fabric::mesh {

class Budget {
 public:
  explicit Budget(double part) : part_(part) {}

  // Until `now` the thread has cost `cost` in all. The first time only begins to count.
  void Count(SteadyTime now, Duration cost) {
    if (began_) {
      const double income = part_ * Seconds(now - now_);
      owed_ += Seconds(cost - cost_) - income;
      owed_ = std::clamp(owed_, -part_ * kSavedMaxS, part_ * kOwedMaxS);
    }
    began_ = true;
    now_ = now;
    cost_ = cost;
  }

  bool paid() const { return owed_ <= 0; }
  // When all is paid, if nothing more is spent.
  SteadyTime paid_at() const {
    const std::chrono::duration<double> wait(std::max(owed_, 0.0) / part_);
    return now_ + std::chrono::duration_cast<Duration>(wait);
  }

 private:
  static constexpr double kSavedMaxS = 1;  // Of income
  // A thread that once cost very much is not paralysed for long.
  static constexpr double kOwedMaxS = 60;

  static double Seconds(Duration duration) {
    return std::chrono::duration<double>(duration).count();
  }

  const double part_;
  bool began_ = false;
  SteadyTime now_{};
  Duration cost_{};
  double owed_ = 0;  // Seconds of processor time; negative: saved
};

}  // namespace fabric::mesh
