// The switch port towards the receiver of a burst of many to one: a queue that fills, and what the
// switch does about it. What happens is worked out in steps of 100 ns; nothing is decided here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"

namespace fabric::sim {

struct BurstSwitch {
  double bps = 380e9;         // Of the port towards the receiver
  double buffer_bytes = 8e6;  // More is dropped.
  double pause_from = 8e5;    // Bytes in the queue; it resumes at half of that.
  double mark_from = 0;       // ECN; 0: none
  bool pfc = true;
  bool global_pause = false;
};

struct BurstSender {
  double bps = 380e9;
  Duration begins{}, ends{};
  bool heeds_pfc = true;
  bool slows_down = false;  // When it is notified of marks
};

struct BurstSent {
  std::uint64_t bytes = 0;  // That came through
  std::uint64_t lost = 0;   // Packets
  std::uint64_t pfc_frames = 0;
  std::uint64_t pause_frames = 0;
  std::uint64_t notified = 0;
};

struct BurstOutcome {
  std::vector<BurstSent> senders;  // In their order
  std::uint64_t marked = 0;        // Packets
};

BurstOutcome PlayBurst(const BurstSwitch& at, std::span<const BurstSender> senders);

}  // namespace fabric::sim
