// Pace of the requests to a subnet: how many are outstanding, and how many are sent in a second.
// Halved, at most to an eighth, while requests are lost; doubled after a quiet time. Pure.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace fabric::agent {

struct PaceLimits {
  std::uint32_t smps = 4;           // Outstanding subnet management packets; opensm uses 4
  std::uint32_t gmps = 16;          // Outstanding general management packets
  std::uint32_t per_second = 5000;  // Packets sent
};

class Pace {
 public:
  explicit Pace(const PaceLimits& limits) : limits_(limits) {}

  std::uint32_t smps() const { return Share(limits_.smps); }
  std::uint32_t gmps() const { return Share(limits_.gmps); }
  std::uint32_t per_second() const { return Share(limits_.per_second); }

  // Takes the right to send one packet, if there is one at `now`.
  bool Take(SteadyTime now);
  // The earliest time at which Take() can succeed.
  SteadyTime NextAt(SteadyTime now) const;

  // An answer arrived; a request to a device that had answered before was lost.
  void OnAnswer(SteadyTime now);
  void OnLoss(SteadyTime now);
  // Switches drop management packets.
  void OnDropped(SteadyTime now);

 private:
  std::uint32_t Share(std::uint32_t limit) const;
  void Refill(SteadyTime now);
  void Slower(SteadyTime now);

  const PaceLimits limits_;
  std::uint32_t divisor_ = 1;
  double tokens_ = 1;
  SteadyTime refilled_at_{};
  SteadyTime changed_at_{};
  std::uint32_t answers_ = 0;  // Of the current sample
  std::uint32_t losses_ = 0;
};

}  // namespace fabric::agent
