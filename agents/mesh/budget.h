// What the mesh may cost: a part of one core, of which little can be saved up. What was spent
// beyond that is owed: no ping is to be begun until it is paid. Pure.
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

  // So little is owed that more may be spent on what others ask for.
  bool solvent() const { return owed_ < part_ * kSolventS; }
  // When all is paid, if nothing more is spent.
  SteadyTime paid_at() const {
    const std::chrono::duration<double> wait(std::max(owed_, 0.0) / part_);
    return now_ + std::chrono::duration_cast<Duration>(wait);
  }

 private:
  static constexpr double kSavedMaxS = 1;  // Of income
  // Some pings of a slow machine; between two of its own a thread owes something most of the time.
  static constexpr double kSolventS = 10;
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
