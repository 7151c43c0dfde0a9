#include "agents/probe/ping/ping_statistics.h"

#include <utility>

namespace fabric::probe {
namespace {

void Fill(const Histogram& histogram, std::uint32_t voided, v1::LatencySummary& summary) {
  summary = histogram.Summary();
  summary.set_voided(voided);
}

}  // namespace

PingStatistics::PingStatistics(Options options)
    : hardware_clock_(options.hardware_clock),
      table_({.answer_within = options.answer_within,
              .report_within = options.report_within,
              .hardware_clock = options.hardware_clock,
              .elapsed = std::move(options.elapsed),
              .settled = [this](const SettledPing& ping) { Settle(ping); }}),
      flows_(options.flows) {}

std::uint32_t PingStatistics::Post(std::uint32_t flow, SteadyTime at) {
  ++flows_[flow].sent;
  ++sent_;
  return table_.Post(flow, at);
}

void PingStatistics::Settle(const SettledPing& ping) {
  Flow& flow = flows_[ping.flow];
  switch (ping.outcome) {
    case SettledPing::Outcome::kVoided:
      ++voided_;
      if (ping.late_here) ++voided_here_;
      ++flow.voided;
      return;
    case SettledPing::Outcome::kLost:
      ++lost_;
      ++flow.lost;
      if (ping.arrived) ++(*ping.arrived ? flow.lost_in : flow.lost_out);
      return;
    case SettledPing::Outcome::kAnswered: break;
  }
  ++answered_;
  if (ping.late) ++late_;
  if (!ping.network) return;
  network_.Add(*ping.network);
  flow.network.Add(*ping.network);
  responder_.Add(ping.responder);
  initiator_.Add(ping.initiator);
}

Late PingStatistics::late() const {
  if (voided_ == 0) return Late::kNone;
  return 2 * voided_here_ >= voided_ ? Late::kThisEnd : Late::kPartner;
}

v1::PingSummary PingStatistics::Summary() const {
  v1::PingSummary summary;
  summary.set_sent(sent_);
  summary.set_answered(answered_);
  summary.set_lost(lost_);
  summary.set_voided(voided_);
  summary.set_hardware_timestamps(hardware_clock_);
  if (network_.samples() > 0) {
    Fill(network_, late_, *summary.mutable_network_round_trip());
    Fill(responder_, late_, *summary.mutable_responder_delay());
    Fill(initiator_, late_, *summary.mutable_initiator_delay());
  }
  for (const Flow& flow : flows_) {
    v1::FlowSummary& proto = *summary.add_flows();
    proto.set_sent(flow.sent - flow.voided);
    proto.set_lost(flow.lost);
    if (flow.lost_out + flow.lost_in > 0) {
      proto.set_lost_out(flow.lost_out);
      proto.set_lost_in(flow.lost_in);
    }
    if (flow.network.samples() > 0)
      proto.set_median_us(
          std::chrono::duration<double, std::micro>(flow.network.Percentile(0.5)).count());
  }
  return summary;
}

}  // namespace fabric::probe
