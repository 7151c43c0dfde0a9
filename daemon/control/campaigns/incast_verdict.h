// What a burst of many to one port did to the fabric, by the counters of its ends. Pure: nothing
// is guessed. Where the counters that would tell are missing, the verdict is UNKNOWN, and the
// evidence says which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// What a port's settings say of the probe's traffic; absent where that is not known.
struct PortClass {
  std::optional<std::uint32_t> priority = {};
  std::optional<bool> pfc = {};           // For that priority
  std::optional<bool> global_pause = {};  // In either direction
};

struct IncastEnd {
  v1::PortMoves moves;
  PortClass traffic = {};
};

struct IncastBurst {
  IncastEnd receiver;
  std::vector<IncastEnd> senders;          // That sent until their time was over
  std::uint32_t planned = 0;               // Senders
  std::vector<std::string> failures = {};  // "n4: ...", of the others
  std::optional<double> receiver_bps = {};
};

v1::IncastReport JudgeIncast(const IncastBurst& burst);

// Several readings of one port as one: from the first before to the last after.
void MergeMoves(const v1::PortMoves& more, v1::PortMoves& into);

}  // namespace fabric::control
