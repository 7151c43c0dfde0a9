#include "agents/mesh/target.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fabric::mesh {
namespace {

// A lost ping is counted when the partner reports whether it arrived, or after this time.
constexpr Duration kReportWithin = std::chrono::seconds(10);

float Microseconds(Duration duration) {
  return std::chrono::duration<float, std::micro>(duration).count();
}

// Nearest rank. `values` are sorted and not empty.
double Percentile(const std::vector<float>& values, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

void Fill(std::vector<float> values, std::uint32_t late, v1::LatencySummary& summary) {
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const float value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const float value : values) squares += (value - mean) * (value - mean);
  summary.set_min_us(values.front());
  summary.set_median_us(Percentile(values, 0.5));
  summary.set_mean_us(mean);
  summary.set_p99_us(Percentile(values, 0.99));
  summary.set_p999_us(Percentile(values, 0.999));
  summary.set_max_us(values.back());
  summary.set_standard_deviation_us(std::sqrt(squares / static_cast<double>(values.size())));
  summary.set_samples(static_cast<std::uint32_t>(values.size()));
  summary.set_voided(late);
}

}  // namespace

Target::Target(v1::MeshTarget order, Options options)
    : order_(std::move(order)),
      options_(std::move(options)),
      table_({.answer_within = options_.answer_within,
              .report_within = kReportWithin,
              .hardware_clock = options_.hardware_clock,
              .elapsed = options_.elapsed,
              .settled = [this](const probe::SettledPing& ping) { Settle(ping); }}),
      flows_(flows()) {}

std::uint32_t Target::flows() const {
  return std::max(1u, static_cast<std::uint32_t>(order_.flow_labels_size()));
}

std::uint32_t Target::LabelOf(std::uint32_t flow) const {
  return order_.flow_labels().empty() ? 0 : order_.flow_labels(static_cast<int>(flow));
}

void Target::CountUnsent(std::uint32_t flow, SteadyTime now) {
  Settle({.flow = flow, .posted = now, .outcome = probe::SettledPing::Outcome::kLost});
}

void Target::Settle(const probe::SettledPing& ping) {
  if (ping.posted < options_.counted_from) return;
  Flow& flow = flows_[ping.flow];
  switch (ping.outcome) {
    case probe::SettledPing::Outcome::kVoided: ++voided_; return;
    case probe::SettledPing::Outcome::kLost:
      ++flow.sent;
      ++lost_;
      ++flow.lost;
      if (ping.arrived) ++(*ping.arrived ? flow.lost_in : flow.lost_out);
      return;
    case probe::SettledPing::Outcome::kAnswered: break;
  }
  ++flow.sent;
  ++answered_;
  if (ping.late) ++late_;
  if (!ping.network) return;
  const Sample sample{.flow = ping.flow,
                      .network_us = Microseconds(*ping.network),
                      .responder_us = Microseconds(ping.responder),
                      .initiator_us = Microseconds(ping.initiator)};
  if (samples_.size() < kSamplesMax) return samples_.push_back(sample);
  samples_[oldest_] = sample;
  oldest_ = (oldest_ + 1) % kSamplesMax;
}

void Target::AddFlows(v1::PingSummary& summary) const {
  std::vector<std::vector<float>> by_flow(flows_.size());
  for (const Sample& sample : samples_) by_flow[sample.flow].push_back(sample.network_us);
  for (std::uint32_t n = 0; n < flows_.size(); ++n) {
    const Flow& flow = flows_[n];
    if (flow.sent == 0) continue;
    v1::FlowSummary& proto = *summary.add_flows();
    proto.set_flow_label(LabelOf(n));
    proto.set_sent(flow.sent);
    proto.set_lost(flow.lost);
    if (flow.lost_out + flow.lost_in > 0) {
      proto.set_lost_out(flow.lost_out);
      proto.set_lost_in(flow.lost_in);
    }
    std::sort(by_flow[n].begin(), by_flow[n].end());
    if (!by_flow[n].empty()) proto.set_median_us(Percentile(by_flow[n], 0.5));
  }
}

std::optional<v1::PingSummary> Target::TakeSummary() {
  if (answered_ + lost_ + voided_ == 0) return std::nullopt;
  v1::PingSummary summary;
  summary.set_sent(answered_ + lost_ + voided_);
  summary.set_answered(answered_);
  summary.set_lost(lost_);
  summary.set_voided(voided_);
  summary.set_hardware_timestamps(options_.hardware_clock);
  if (!samples_.empty()) {
    const auto values = [&](float Sample::*field) {
      std::vector<float> all;
      all.reserve(samples_.size());
      for (const Sample& sample : samples_) all.push_back(sample.*field);
      return all;
    };
    Fill(values(&Sample::network_us), late_, *summary.mutable_network_round_trip());
    Fill(values(&Sample::responder_us), late_, *summary.mutable_responder_delay());
    Fill(values(&Sample::initiator_us), late_, *summary.mutable_initiator_delay());
  }
  AddFlows(summary);
  std::fill(flows_.begin(), flows_.end(), Flow());
  samples_.clear();
  oldest_ = 0;
  answered_ = lost_ = voided_ = late_ = 0;
  return summary;
}

}  // namespace fabric::mesh
