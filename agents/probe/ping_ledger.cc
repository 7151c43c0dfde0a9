#include "agents/probe/ping_ledger.h"

#include <utility>

namespace fabric::probe {
namespace {

void Fill(const Histogram& histogram, std::uint32_t voided, v1::LatencySummary& summary) {
  summary = histogram.Summary();
  summary.set_voided(voided);
}

}  // namespace

std::uint32_t PingLedger::Post(std::uint32_t flow, SteadyTime at) {
  pings_.push_back({.flow = flow, .posted = at, .seen = at});
  ++flows_[flow].sent;
  ++sent_;
  ++awaited_;
  return first_ + static_cast<std::uint32_t>(pings_.size()) - 1;
}

PingLedger::Ping* PingLedger::Find(std::uint32_t sequence) {
  if (sequence < first_ || sequence - first_ >= pings_.size()) return nullptr;
  Ping& ping = pings_[sequence - first_];
  return ping.over ? nullptr : &ping;
}

void PingLedger::Departed(std::uint32_t sequence, std::uint64_t ticks, bool late) {
  Ping* const ping = Find(sequence);
  if (ping == nullptr || ping->departed) return;
  ping->departed = true;
  ping->left = ticks;
  ping->late |= late && !options_.hardware_clock;
  Settle(*ping);
}

void PingLedger::Answered(std::uint32_t sequence, std::uint64_t ticks, SteadyTime at, bool late) {
  Ping* const ping = Find(sequence);
  if (ping == nullptr || ping->answered) return;
  ping->answered = true;
  ping->came = ticks;
  ping->seen = at;
  ping->late |= late && !options_.hardware_clock;
  ++answered_;
  Settle(*ping);
}

void PingLedger::Reported(std::uint32_t sequence, Duration delay, bool late) {
  Ping* const ping = Find(sequence);
  if (ping == nullptr || ping->reported) return;
  ping->reported = true;
  ping->delay = delay;
  ping->late |= late;
  Settle(*ping);
}

void PingLedger::Settle(Ping& ping) {
  if (!ping.departed || !ping.answered || !ping.reported) return;
  const Duration round = options_.elapsed(ping.left, ping.came);
  const Duration network = round - ping.delay;
  // Software sees departures after the fact: by more than all of the network's time now and then.
  if (ping.late || network <= Duration::zero()) {
    ++late_;
  } else {
    network_.Add(network);
    flows_[ping.flow].network.Add(network);
    responder_.Add(ping.delay);
    initiator_.Add(ping.seen - ping.posted - round);
  }
  End(ping);
}

void PingLedger::End(Ping& ping) {
  ping.over = true;
  --awaited_;
  for (; !pings_.empty() && pings_.front().over; ++first_) pings_.pop_front();
}

void PingLedger::Excuse() {
  for (Ping& ping : pings_) ping.excused = true;
}

void PingLedger::Expire(SteadyTime now) {
  while (!pings_.empty() && now - pings_.front().posted > options_.answer_within) {
    Ping& ping = pings_.front();
    // Ones in the middle that are over wait for those before them.
    if (!ping.answered && ping.excused) {
      ++voided_;
    } else if (!ping.answered) {
      ++lost_;
      ++flows_[ping.flow].lost;
    }
    End(ping);
  }
}

v1::PingSummary PingLedger::Summary() const {
  v1::PingSummary summary;
  summary.set_sent(sent_);
  summary.set_answered(answered_);
  summary.set_lost(lost_);
  summary.set_voided(voided_);
  summary.set_hardware_timestamps(options_.hardware_clock);
  if (network_.samples() > 0) {
    Fill(network_, late_, *summary.mutable_network_round_trip());
    Fill(responder_, late_, *summary.mutable_responder_delay());
    Fill(initiator_, late_, *summary.mutable_initiator_delay());
  }
  for (const Flow& flow : flows_) {
    v1::FlowSummary& told = *summary.add_flows();
    told.set_sent(flow.sent);
    told.set_lost(flow.lost);
    if (flow.network.samples() > 0)
      told.set_median_us(
          std::chrono::duration<double, std::micro>(flow.network.Percentile(0.5)).count());
  }
  return summary;
}

}  // namespace fabric::probe
