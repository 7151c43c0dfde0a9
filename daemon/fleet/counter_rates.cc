#include "daemon/fleet/counter_rates.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::fleet {
namespace {

struct Followed {
  std::string_view name;
  Count count;
};

// By name.
constexpr Followed kFollowed[] = {
    {"ack_timeout", Count::kAckTimeouts},
    {"adaptive_retrans", Count::kAdaptiveRetransmissions},
    {"buffer_overrun_errors", Count::kBufferOverruns},
    {"cnp_rx_handled", Count::kCnpsHandled},
    {"cnp_rx_ignored", Count::kCnpsIgnored},
    {"cnp_tx_packets", Count::kCnpsSent},
    {"credit_wait", Count::kCreditWait},
    {"ecn_marked_rx_packets", Count::kMarkedPackets},
    {"fcs_errors", Count::kFcsErrors},
    {"fec_corrected_bits", Count::kFecCorrectedBits},
    {"fec_uncorrectable_blocks", Count::kFecUncorrectableBlocks},
    {"icrc_errors", Count::kIcrcErrors},
    {"link_down_events", Count::kLinkDowns},
    {"link_error_recoveries", Count::kLinkRecoveries},
    {"local_link_integrity_errors", Count::kIntegrityErrors},
    {"module_bus_errors", Count::kModuleBusErrors},
    {"module_high_temperatures", Count::kModuleHighTemperatures},
    {"module_shorts", Count::kModuleShorts},
    {"out_of_buffer", Count::kOutOfBuffer},
    {"out_of_sequence", Count::kOutOfSequence},
    {"pause_rx_duration_us", Count::kPauseReceivedUs},
    {"pause_tx_duration_us", Count::kPauseSentUs},
    {"pcie_read_stall_events", Count::kPcieReadStalls},
    {"pcie_rx_signal_errors", Count::kPcieReceiveErrors},
    {"pcie_tx_signal_errors", Count::kPcieTransmitErrors},
    {"pcie_write_stall_events", Count::kPcieWriteStalls},
    {"pfc_rx_duration_us_prio", Count::kPriorityPfcReceivedUs},
    {"pfc_rx_frames_prio", Count::kPriorityPfcReceived},
    {"pfc_storm_events", Count::kPauseStorms},
    {"pfc_tx_duration_us_prio", Count::kPriorityPfcSentUs},
    {"rdma_rx_packets", Count::kReceivedPackets},
    {"rdma_tx_bytes", Count::kTransmittedBytes},
    {"rdma_tx_packets", Count::kTransmittedPackets},
    {"retry_exceeded", Count::kRetriesExceeded},
    {"rnr_nak_received", Count::kRnrNaksReceived},
    {"rnr_retry_exceeded", Count::kRnrRetriesExceeded},
    {"rx_constraint_errors", Count::kReceiveConstraintErrors},
    {"rx_discards", Count::kReceiveDiscards},
    {"rx_discards_prio", Count::kPriorityReceiveDiscards},
    {"rx_errors", Count::kReceiveErrors},
    {"seq_nak_received", Count::kSequenceNaksReceived},
    {"symbol_errors", Count::kSymbolErrors},
    {"tx_bytes_prio", Count::kPriorityTransmittedBytes},
    {"tx_constraint_errors", Count::kTransmitConstraintErrors},
    {"tx_discards", Count::kTransmitDiscards},
};

constexpr bool ByName(const Followed& a, const Followed& b) {
  return a.name < b.name;
}
static_assert(std::is_sorted(std::begin(kFollowed), std::end(kFollowed), ByName));

constexpr unsigned kRareEnd = static_cast<unsigned>(Count::kTransmittedBytes);
constexpr unsigned kAllEnd = 0xff;
// Minimum time between two snapshots for a rate.
constexpr Duration kPairMin = std::chrono::seconds(10);

static_assert(static_cast<unsigned>(Count::kPriorityPfcSentUs) + 8 <= 128);

bool IsOfPriorities(Count count) {
  return count >= Count::kPriorityTransmittedBytes;
}

const v1::Counter* Find(const v1::CounterSet& set, std::string_view name,
                        v1::CounterSource source) {
  for (const v1::Counter& counter : set.counters())
    if (counter.source() == source && counter.name() == name) return &counter;
  return nullptr;
}

const v1::CounterSet* Find(const v1::NodeSnapshot& snapshot, const v1::CounterSet& like) {
  for (const v1::CounterSet& set : snapshot.counters())
    if (set.device() == like.device() && set.port() == like.port() && set.netdev() == like.netdev())
      return &set;
  return nullptr;
}

// Increase of a register that wrapped. Empty when a reset is likelier: a wrap is assumed only if
// the increase is at most 1/16 of the register's range.
std::optional<std::uint64_t> OverTheTop(const v1::Counter& before, const v1::Counter& after) {
  if (!after.has_width_bits() || after.width_bits() < 16 || after.width_bits() >= 64) return {};
  const std::uint64_t range = std::uint64_t{1} << after.width_bits();
  if (before.value() >= range || after.value() >= range) return {};
  const std::uint64_t way = range - before.value() + after.value();
  return way <= range / 16 ? std::optional(way) : std::nullopt;
}

// Values of the earlier snapshot in the layout of the later one, so that the difference is the
// increase. A counter that decreased marks all counters of its source as reset, because one reset
// clears them together. "Saturated" in the result means: no rate.
v1::NodeSnapshot Aligned(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after) {
  v1::NodeSnapshot aligned;
  for (const v1::CounterSet& set : after.counters()) {
    v1::CounterSet& made = *aligned.add_counters();
    made = set;
    const v1::CounterSet* const old = Find(before, set);
    std::array<bool, 8> reset = {};
    for (v1::Counter& counter : *made.mutable_counters()) {
      const v1::Counter now = counter;
      const v1::Counter* const then =
          old == nullptr ? nullptr : Find(*old, now.name(), now.source());
      counter.set_saturated(then == nullptr || then->saturated());
      if (then == nullptr) continue;
      counter.set_value(then->value());
      if (then->value() <= now.value()) continue;
      if (const auto way = OverTheTop(*then, now))
        counter.set_value(now.value() - *way);  // Modulo 2^64, as the difference is taken
      else
        reset[static_cast<unsigned>(now.source()) % reset.size()] = true;
    }
    for (v1::Counter& counter : *made.mutable_counters())
      if (reset[static_cast<unsigned>(counter.source()) % reset.size()])
        counter.set_saturated(true);
  }
  return aligned;
}

}  // namespace

std::optional<Count> CountNamed(std::string_view neutral) {
  unsigned priority = 0;
  const std::size_t size = neutral.size();
  const bool numbered = size > 5 && neutral[size - 1] >= '0' && neutral[size - 1] <= '7' &&
                        neutral.substr(0, size - 1).ends_with("_prio");
  if (numbered) {
    priority = static_cast<unsigned>(neutral[size - 1] - '0');
    neutral.remove_suffix(1);
  }
  const auto* const at =
      std::lower_bound(std::begin(kFollowed), std::end(kFollowed), Followed{neutral, {}}, ByName);
  if (at == std::end(kFollowed) || at->name != neutral || IsOfPriorities(at->count) != numbered)
    return {};
  return OfPriority(at->count, priority);
}

std::string NeutralName(Count count) {
  for (const Followed& followed : kFollowed) {
    if (followed.count == count && !IsOfPriorities(count)) return std::string(followed.name);
    const int priority = static_cast<int>(count) - static_cast<int>(followed.count);
    if (IsOfPriorities(followed.count) && priority >= 0 && priority < 8)
      return Format("{}{}", followed.name, priority);
  }
  return {};
}

CounterSetIndexes CounterSetsOf(const v1::NodeSnapshot& snapshot, const v1::RdmaDevice& device,
                                const v1::Port& port) {
  CounterSetIndexes places = {kNoCounters, kNoCounters, kNoCounters};
  const int sets = std::min<int>(snapshot.counters_size(), kNoCounters);
  for (int i = 0; i < sets; ++i) {
    const v1::CounterSet& set = snapshot.counters(i);
    const auto place = static_cast<std::uint16_t>(i);
    if (set.device().empty()) {
      if (!set.netdev().empty() && set.netdev() == port.netdev()) places[2] = place;
    } else if (set.device() == device.name()) {
      if (set.port() == port.number()) places[0] = place;
      // Counters of a device with several ports cannot be assigned to one port.
      if (set.port() == 0 && device.ports_size() == 1) places[1] = place;
    }
  }
  return places;
}

void CounterWindow::Start(const v1::NodeSnapshot& snapshot, unsigned end, SteadyTime now) {
  tracks_.clear();
  sets_.clear();
  since_ = now;
  seconds_ = 0;
  for (const v1::CounterSet& set : snapshot.counters()) {
    const auto start = static_cast<std::ptrdiff_t>(tracks_.size());
    Set& made = sets_.emplace_back(Set{.start = static_cast<std::uint32_t>(start)});
    const int places = std::min<int>(set.counters_size(), 0xffff);
    for (int place = 0; place < places; ++place) {
      const v1::Counter& counter = set.counters(place);
      const auto count = counter.has_neutral() ? CountNamed(counter.neutral()) : std::nullopt;
      if (!count || static_cast<unsigned>(*count) >= end) continue;
      // Of several counters with the same neutral name, use the first.
      std::uint64_t& known = made.counts[WordOf(*count)];
      if ((known & BitOf(*count)) != 0) continue;
      known |= BitOf(*count);
      tracks_.push_back({.base = counter.value(),
                         .last = kUnknown,
                         .place = static_cast<std::uint16_t>(place),
                         .count = *count,
                         .broken = counter.saturated()});
    }
    std::sort(tracks_.begin() + start, tracks_.end(),
              [](const Track& a, const Track& b) { return a.count < b.count; });
  }
  sets_.push_back({.start = static_cast<std::uint32_t>(tracks_.size())});
  tracks_.shrink_to_fit();
  deltas_.assign(tracks_.size(), kUnknown);
}

void CounterWindow::Break(int set, int place) {
  if (set < 0 || static_cast<std::size_t>(set) + 1 >= sets_.size()) return;
  const auto index = static_cast<std::size_t>(set);
  for (std::uint32_t i = sets_[index].start; i < sets_[index + 1].start; ++i)
    if (tracks_[i].place == place) tracks_[i].broken = true;
}

void CounterWindow::Take(const v1::Counter& counter, bool whole, std::size_t index) {
  Track& track = tracks_[index];
  const bool known = !track.broken && !counter.saturated();
  std::uint64_t delta = known ? counter.value() - track.base : kUnknown;
  if (delta >= kUnknown / 2) delta = kUnknown;  // It decreased
  const bool more = track.last == kUnknown || (delta != kUnknown && delta > track.last);
  deltas_[index] = whole || more ? delta : track.last;
  if (!whole) return;
  track.last = delta;
  track.base = counter.value();
  track.broken = counter.saturated();
}

void CounterWindow::Take(const v1::NodeSnapshot& snapshot, SteadyTime now, bool whole) {
  seconds_ =
      std::max(seconds_ * (whole ? 0 : 1), std::chrono::duration<double>(now - since_).count());
  if (whole) since_ = now;
  for (std::size_t set = 0; set + 1 < sets_.size(); ++set) {
    if (static_cast<int>(set) >= snapshot.counters_size()) return;
    const auto& counters = snapshot.counters(static_cast<int>(set)).counters();
    for (std::uint32_t i = sets_[set].start; i < sets_[set + 1].start; ++i)
      if (tracks_[i].place < counters.size()) Take(counters[tracks_[i].place], whole, i);
    UpdateActivity(set);
  }
}

void CounterWindow::UpdateActivity(std::size_t set) {
  CounterActivity activity;
  for (std::uint32_t i = sets_[set].start; i < sets_[set + 1].start; ++i) {
    const Count count = tracks_[i].count;
    if (deltas_[i] != kUnknown) activity.known[WordOf(count)] |= BitOf(count);
    if (deltas_[i] != kUnknown && deltas_[i] != 0) activity.grown[WordOf(count)] |= BitOf(count);
  }
  sets_[set].activity = activity;
}

CounterActivity CounterWindow::ActivityOf(const CounterSetIndexes& places) const {
  CounterActivity activity;
  if (seconds_ <= 0) return activity;
  CountSet taken = {};
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (std::size_t{places[i]} + 1 >= sets_.size()) continue;
    const Set& set = sets_[places[i]];
    const bool of_netdev = i + 1 == places.size();
    for (std::size_t word = 0; word < (of_netdev ? taken.size() : 1); ++word) {
      activity.known[word] |= set.activity.known[word] & ~taken[word];
      activity.grown[word] |= set.activity.grown[word] & ~taken[word];
      taken[word] |= set.counts[word];
    }
  }
  return activity;
}

std::optional<CounterIncrease> CounterWindow::IncreaseOf(const CounterSetIndexes& places,
                                                         Count count) const {
  if (seconds_ <= 0) return {};
  // Only netdevs have counters by priority, and most calls are for those.
  const bool of_netdev = count >= Count::kPriorityTransmittedBytes;
  for (std::size_t i = of_netdev ? places.size() - 1 : 0; i < places.size(); ++i) {
    if (std::size_t{places[i]} + 1 >= sets_.size()) continue;
    const Set& set = sets_[places[i]];
    const std::uint64_t counts = set.counts[WordOf(count)];
    if ((counts & BitOf(count)) == 0) continue;
    const int before = std::popcount(counts & (BitOf(count) - 1)) +
                       (WordOf(count) > 0 ? std::popcount(set.counts[0]) : 0);
    const std::uint64_t delta = deltas_[set.start + static_cast<unsigned>(before)];
    if (delta == kUnknown) return {};
    return CounterIncrease{.delta = delta, .seconds = seconds_};
  }
  return {};
}

void CounterRates::Start(const v1::NodeSnapshot& snapshot, SteadyTime now) {
  window_.Start(snapshot, kAllEnd, now);
  hour_.Start(snapshot, kRareEnd, now);
  known_ = false;
}

void CounterRates::Break(int set, int place) {
  window_.Break(set, place);
  hour_.Break(set, place);
}

bool CounterRates::Advance(const v1::NodeSnapshot& snapshot, SteadyTime now) {
  if (window_.empty() || now - window_.since() < kWindow) return false;
  window_.Take(snapshot, now, true);
  hour_.Take(snapshot, now, now - hour_.since() >= kLongWindow);
  known_ = true;
  return true;
}

CounterRates CounterRates::Between(const v1::NodeSnapshot& before, const v1::NodeSnapshot& after) {
  CounterRates rates;
  const Duration apart = FromProto(after.taken_at()) - FromProto(before.taken_at());
  if (before.captured() || after.captured()) return rates;
  if (apart < kPairMin || before.node().boot_id() != after.node().boot_id()) return rates;
  const v1::NodeSnapshot first = Aligned(before, after);
  const SteadyTime start;
  rates.Start(first, start);
  rates.window_.Take(after, start + apart, true);
  rates.hour_.Take(after, start + apart, true);
  rates.known_ = true;
  return rates;
}

}  // namespace fabric::fleet
