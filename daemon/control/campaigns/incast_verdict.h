// Verdict on an incast (many senders, one receiver) from the counters of its ends. Pure. Without
// the required counters the verdict is UNKNOWN and the evidence names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// Settings of a port for the traffic of the probe; absent: unknown.
struct PortClass {
  std::optional<std::uint32_t> priority = {};
  std::optional<bool> pfc = {};           // For that priority
  std::optional<bool> global_pause = {};  // In either direction
};

struct IncastEnd {
  v1::PortCounterDeltas deltas;
  PortClass traffic = {};
};

struct IncastBurst {
  IncastEnd receiver;
  std::vector<IncastEnd> senders;          // That sent for the whole duration
  std::uint32_t planned = 0;               // Senders
  std::vector<std::string> failures = {};  // "n4: ...", of the others
  std::optional<double> receiver_bps = {};
};

v1::IncastReport JudgeIncast(const IncastBurst& burst);

// Merges readings of one port: from the first reading before to the last one after.
void MergeDeltas(const v1::PortCounterDeltas& more, v1::PortCounterDeltas& into);

}  // namespace fabric::control
