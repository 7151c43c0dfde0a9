#include "daemon/control/mesh/mesh_counts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabric::control {
namespace {

constexpr std::uint32_t kPingsPerCountMax = 1'000'000;  // Per pair and window
constexpr int kFlowsMax = 16'384;

bool Finite(const v1::LatencySummary& latency) {
  return std::isfinite(latency.median_us()) && std::isfinite(latency.p99_us()) &&
         latency.median_us() >= 0 && latency.p99_us() >= 0;
}

bool Sound(const v1::FlowSummary& flow) {
  return flow.lost() <= flow.sent() && flow.sent() <= kPingsPerCountMax &&
         std::uint64_t{flow.lost_out()} + flow.lost_in() <= flow.lost() &&
         std::isfinite(flow.median_us());
}

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool Sound(const v1::PingSummary& ping) {
  const std::uint64_t reported = std::uint64_t{ping.answered()} + ping.lost() + ping.voided();
  return ping.sent() > 0 && ping.sent() <= kPingsPerCountMax && reported == ping.sent() &&
         ping.flows_size() <= kFlowsMax && Finite(ping.network_round_trip()) &&
         std::all_of(ping.flows().begin(), ping.flows().end(),
                     [](const v1::FlowSummary& flow) { return Sound(flow); });
}

void MeshCounts::Add(v1::PingSummary ping, bool keep_flows) {
  if (ping.lost() == 0 && !keep_flows) ping.clear_flows();
  ping.clear_responder_delay();
  ping.clear_initiator_delay();
  sent_ += ping.sent();
  lost_ += ping.lost();
  voided_ += ping.voided();
  flows_kept_ += static_cast<std::size_t>(ping.flows_size());
  windows_.push_back({.number = next_++, .ping = std::move(ping)});
  if (windows_.size() <= kWindowsMax) return;
  const v1::PingSummary& oldest = windows_.front().ping;
  sent_ -= oldest.sent();
  lost_ -= oldest.lost();
  voided_ -= oldest.voided();
  flows_kept_ -= static_cast<std::size_t>(oldest.flows_size());
  windows_.erase(windows_.begin());
}

MeshSum MeshCounts::Sum() const {
  MeshSum sum{.sent = sent_, .lost = lost_, .voided = voided_};
  for (const Window& window : windows_) {
    if (!window.ping.has_network_round_trip()) continue;
    sum.median_us = window.ping.network_round_trip().median_us();
    sum.p99_us = window.ping.network_round_trip().p99_us();
  }
  return sum;
}

void MeshCounts::AddTo(const v1::ProbePort& from, const v1::ProbePort& to, bool across,
                       google::protobuf::RepeatedPtrField<v1::PairResult>& results) const {
  const auto add = [&](const v1::PingSummary& ping, std::uint32_t round) {
    v1::PairResult& result = *results.Add();
    *result.mutable_from() = from;
    *result.mutable_to() = to;
    result.set_round(round);
    // Blame compares latencies of equal specs: one hop with one hop.
    result.mutable_probe()->mutable_ud_ping()->set_pings(across ? 2 : 1);
    result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
    v1::PingSummary& reported = *result.mutable_result()->mutable_ping();
    reported = ping;
    // Software timestamps measure the hosts more than the fabric.
    if (!ping.hardware_timestamps()) reported.clear_network_round_trip();
  };
  if (lost_ > 0) {
    for (const Window& window : windows_) add(window.ping, window.number);
    return;
  }
  v1::PingSummary all;
  for (const Window& window : windows_) {
    all.set_sent(all.sent() + window.ping.sent());
    all.set_answered(all.answered() + window.ping.answered());
    all.set_voided(all.voided() + window.ping.voided());
    all.set_hardware_timestamps(window.ping.hardware_timestamps());
    if (window.ping.has_network_round_trip())
      *all.mutable_network_round_trip() = window.ping.network_round_trip();
  }
  if (all.answered() > 0) add(all, 1);
}

std::vector<v1::MeshLeafPair> SumsOf(const plan::MeshPlan& plan, std::span<const MeshSum> pairs) {
  std::vector<v1::MeshLeafPair> sums(plan.leaf_pairs.size());
  std::vector<std::vector<double>> medians(sums.size());
  for (std::size_t n = 0; n < sums.size(); ++n) {
    sums[n].set_from_leaf(plan.leaf_pairs[n].from_leaf);
    sums[n].set_to_leaf(plan.leaf_pairs[n].to_leaf);
    sums[n].set_rail(plan.leaf_pairs[n].rail);
  }
  for (std::size_t n = 0; n < plan.pairs.size(); ++n) {
    const plan::MeshPair& pair = plan.pairs[n];
    v1::MeshLeafPair& sum = sums[pair.leaf_pair];
    sum.set_port_pairs(sum.port_pairs() + 1);
    sum.set_flows(sum.flows() + pair.flows());
    sum.set_sent(sum.sent() + pairs[n].sent);
    sum.set_lost(sum.lost() + pairs[n].lost);
    sum.set_voided(sum.voided() + pairs[n].voided);
    if (pairs[n].median_us) medians[pair.leaf_pair].push_back(*pairs[n].median_us);
    if (pairs[n].p99_us) sum.set_p99_us(std::max(sum.p99_us(), *pairs[n].p99_us));
  }
  for (std::size_t n = 0; n < sums.size(); ++n)
    if (!medians[n].empty()) sums[n].set_median_us(MedianOf(std::move(medians[n])));
  return sums;
}

}  // namespace fabric::control
