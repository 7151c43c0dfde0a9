// What the bandwidth kinds over reliable connections do: a window of requests on each of several
// queue pairs, from one end or from both at once, as perftest does it: payload from the first post
// to the last completion.
#pragma once

#include <cstdint>
#include <string_view>

#include "agents/probe/numbers.h"
#include "agents/probe/probe.h"

namespace fabric::probe {

struct BandwidthPlan {
  host::Operation operation;
  std::string_view what;  // "write"
  std::uint32_t message_bytes;
  std::uint32_t iterations;  // Of one direction, over all queue pairs
  std::uint32_t depth;       // Of each queue pair
  std::uint32_t queue_pairs;
  bool bidirectional;

  template <class Kind>
  static BandwidthPlan Of(const Kind& wanted, host::Operation operation, std::string_view what,
                          std::uint32_t depth) {
    return {.operation = operation,
            .what = what,
            .message_bytes = wanted.message_bytes() == 0 ? 65536 : wanted.message_bytes(),
            .iterations = wanted.iterations() == 0 ? 1000 : wanted.iterations(),
            .depth = wanted.queue_depth() == 0 ? depth : wanted.queue_depth(),
            .queue_pairs = wanted.queue_pairs() == 0 ? 1 : wanted.queue_pairs(),
            .bidirectional = wanted.bidirectional()};
  }
};

Status CheckBandwidth(const v1::ProbeSpec& spec, const BandwidthPlan& plan);
ProbeNeeds BandwidthNeeds(const BandwidthPlan& plan);
// Posts the receives of sends.
Status PrepareBandwidth(ProbeRun& run, const BandwidthPlan& plan);
void InitiateBandwidth(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result);
void RespondBandwidth(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result);

}  // namespace fabric::probe
