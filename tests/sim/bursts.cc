#include "tests/sim/bursts.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kGathers = 100ms;
constexpr std::uint32_t kPriority = 3;  // Of the probes' traffic class on these nodes
// What a sender has posted when its time is over goes through when the others are done.
constexpr std::uint64_t kPosted = 16 * 65536;
// What adapters of the fleet have of those counters that a burst moves.
constexpr const char* kCounters[] = {
    "pause_rx_frames", "pause_tx_frames",  "ecn_marked_rx_packets", "cnp_tx_packets",
    "cnp_rx_handled",  "rx_discards",      "out_of_sequence",       "seq_nak_received",
    "ack_timeout",     "duplicate_request"};

}  // namespace

void Bursts::Begin(const Port& from, const Port& to, Duration how_long) {
  std::vector<Sending>& sending = sending_[KeyOf(to)];
  if (sending.empty()) queue_.After(how_long + kGathers, [this, to] { Conclude(to); });
  sending.push_back({from, queue_.now(), queue_.now() + how_long});
  bytes_.erase(KeyOf(from));
}

void Bursts::EndNow(const Port& from) {
  for (auto& [to, sending] : sending_)
    for (Sending& one : sending)
      if (one.from == from) one.ends = std::min(one.ends, queue_.now());
}

void Bursts::Conclude(const Port& to) {
  const std::vector<Sending> sending = std::exchange(sending_[KeyOf(to)], {});
  const Duration begun = sending.front().begins;
  std::vector<BurstSender> senders;
  for (const Sending& one : sending)
    senders.push_back({.bps = settings.sender_bps,
                       .begins = one.begins - begun,
                       .ends = one.ends - begun,
                       .heeds_pfc = !settings.deaf_to_pfc.contains(one.from.node),
                       .slows_down = settings.slows_down});
  const BurstOutcome outcome = PlayBurst(settings.at, senders);
  BurstTruth truth{.senders = static_cast<std::uint32_t>(senders.size()), .marked = outcome.marked};
  for (std::size_t i = 0; i < sending.size(); ++i) {
    const Port& from = sending[i].from;
    const BurstSent& sent = outcome.senders[i];
    bytes_[KeyOf(from)] = std::max(sent.bytes, kPosted);
    Count(from, Format("pfc_rx_frames_prio{}", kPriority), sent.pfc_frames);
    Count(from, "pause_rx_frames", sent.pause_frames);
    // The receiver misses them, and says so once for each gap: taken as one packet each.
    Count(from, "seq_nak_received", sent.lost);
    Count(to, "out_of_sequence", sent.lost);
    Count(from, "cnp_rx_handled", sent.notified);
    Count(to, "cnp_tx_packets", sent.notified);
    truth.lost += sent.lost;
    truth.pfc_frames += sent.pfc_frames;
    truth.pause_frames += sent.pause_frames;
  }
  Count(to, "ecn_marked_rx_packets", outcome.marked);
  truths_[KeyOf(to)] = truth;
}

std::optional<std::uint64_t> Bursts::BytesOf(const Port& from) const {
  const auto found = bytes_.find(KeyOf(from));
  return found == bytes_.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, std::uint64_t> Bursts::CountersOf(const Port& port) const {
  std::map<std::string, std::uint64_t> counters;
  if (!settings.counted) return counters;
  // Since they were booted they have counted some.
  const std::uint64_t before = port.node * 7 + port.rail;
  for (const char* name : kCounters) counters[name] = before;
  for (std::uint32_t priority = 0; priority < 8; ++priority)
    for (const char* way : {"rx", "tx"})
      counters[Format("pfc_{}_frames_prio{}", way, priority)] = before;
  const auto counted = counted_.find(KeyOf(port));
  if (counted == counted_.end()) return counters;
  for (const auto& [name, count] : counted->second) counters[name] += count;
  return counters;
}

BurstTruth Bursts::TruthOf(const Port& to) const {
  const auto found = truths_.find(KeyOf(to));
  return found == truths_.end() ? BurstTruth() : found->second;
}

}  // namespace fabric::sim
