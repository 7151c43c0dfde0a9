#include "agents/probe/port_watch.h"

#include <algorithm>
#include <set>

namespace fabric::probe {
namespace {

// Flow control, congestion and loss, in the order of the report of missing counters.
constexpr std::string_view kWatched[] = {
    "pfc_rx_frames_prio#",
    "pfc_tx_frames_prio#",
    "pfc_rx_frames",
    "pfc_tx_frames",
    "pfc_rx_duration_us_prio#",
    "pfc_tx_duration_us_prio#",
    "pause_rx_frames",
    "pause_tx_frames",
    "pause_rx_duration_us",
    "pause_tx_duration_us",
    "ecn_marked_rx_packets",
    "ecn_marked_prio#",
    "cnp_tx_packets",
    "cnp_rx_packets",
    "cnp_rx_handled",
    "cnp_rx_ignored",
    "rx_discards",
    "tx_discards",
    "rx_discards_prio#",
    "rx_congestion_discards_prio#",
    "rx_buffer_threshold_events",
    "out_of_sequence",
    "seq_nak_received",
    "seq_nak_sent",
    "implied_nak",
    "ack_timeout",
    "retransmitted_packets",
    "adaptive_retrans",
    "adaptive_retrans_timeout",
    "duplicate_request",
    "retry_exceeded",
};

}  // namespace

std::span<const std::string_view> WatchedCounters() {
  return kWatched;
}

std::string_view WatchedAs(std::string_view neutral) {
  std::string pattern(neutral);
  if (!pattern.empty() && pattern.back() >= '0' && pattern.back() <= '7') pattern.back() = '#';
  const auto* const found = std::find_if(
      std::begin(kWatched), std::end(kWatched),
      [&](std::string_view watched) { return watched == neutral || watched == pattern; });
  return found == std::end(kWatched) ? std::string_view() : *found;
}

void PortWatch::Begin() {
  counters_ = open_ ? open_(port_.device(), port_.port()) : nullptr;
  if (counters_ != nullptr) before_ = counters_->Read();
}

v1::PortCounterDeltas PortWatch::End() {
  v1::PortCounterDeltas deltas;
  *deltas.mutable_port() = port_;
  std::set<std::string_view> seen;
  if (counters_ != nullptr) {
    for (const auto& [name, after] : counters_->Read()) {
      const std::string_view watched = WatchedAs(name);
      const auto before = before_.find(name);
      if (watched.empty() || before == before_.end() || after < before->second) continue;
      v1::CounterDelta& delta = *deltas.add_counters();
      delta.set_name(name);
      delta.set_before(before->second);
      delta.set_after(after);
      seen.insert(watched);
    }
  }
  for (const std::string_view name : kWatched)
    if (!seen.contains(name)) deltas.add_missing(std::string(name));
  return deltas;
}

}  // namespace fabric::probe
