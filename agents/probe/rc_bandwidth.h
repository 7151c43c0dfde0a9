// Bandwidth over reliable connections: a window of requests on each of several queue pairs, from
// one end or both. As in perftest, bandwidth is payload over the time from the first post to the
// last completion.
#pragma once

#include <cstdint>
#include <string_view>

#include "agents/probe/probe.h"
#include "agents/probe/spec.h"
#include "proto/probe_kinds.h"

namespace fabric::probe {

struct BandwidthPlan {
  host::Operation operation;
  std::string_view what;  // "write"
  std::uint32_t message_bytes;
  std::uint32_t iterations;  // Per direction, over all queue pairs
  std::uint32_t depth;       // Per queue pair
  std::uint32_t queue_pairs;
  bool bidirectional;

  template <class Kind>
  static BandwidthPlan Of(const Kind& wanted, host::Operation operation, std::string_view what) {
    return {.operation = operation,
            .what = what,
            .message_bytes = NumberOf(wanted, "message_bytes"),
            .iterations = NumberOf(wanted, "iterations"),
            .depth = NumberOf(wanted, "queue_depth"),
            .queue_pairs = NumberOf(wanted, "queue_pairs"),
            .bidirectional = wanted.bidirectional()};
  }
};

Status CheckBandwidth(const v1::ProbeSpec& spec, const BandwidthPlan& plan);
ProbeNeeds BandwidthNeeds(const BandwidthPlan& plan);
// Posts receives for sends.
Status PrepareBandwidth(ProbeRun& run, const BandwidthPlan& plan);
void InitiateBandwidth(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result);
void RespondBandwidth(ProbeRun& run, const BandwidthPlan& plan, v1::ProbeResult& result);

}  // namespace fabric::probe
