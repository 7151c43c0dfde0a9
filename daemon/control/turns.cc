#include "daemon/control/turns.h"

#include <algorithm>
#include <utility>

namespace fabric::control {

std::string_view TurnKindName(TurnKind kind) {
  switch (kind) {
    case TurnKind::kLoad: return "load";
    case TurnKind::kHello: return "hello";
    case TurnKind::kSnapshot: return "snapshot";
    case TurnKind::kChange: return "change";
    case TurnKind::kCounters: return "counters";
    case TurnKind::kHeartbeat: return "heartbeat";
    case TurnKind::kProbe: return "probe";
    case TurnKind::kMesh: return "mesh";
    case TurnKind::kExcess: return "excess";
    case TurnKind::kGone: return "gone";
    case TurnKind::kTopology: return "topology";
    case TurnKind::kCall: return "call";
    case TurnKind::kListPart: return "list_part";
    case TurnKind::kTickSessions: return "tick_sessions";
    case TurnKind::kTickCampaigns: return "tick_campaigns";
    case TurnKind::kTickMesh: return "tick_mesh";
    case TurnKind::kTickRules: return "tick_rules";
    case TurnKind::kTickFindings: return "tick_findings";
    case TurnKind::kTickCertificates: return "tick_certificates";
    case TurnKind::kTickNumbers: return "tick_numbers";
    case TurnKind::kTickStore: return "tick_store";
  }
  return "?";
}

void DurationCounts::Add(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto* const bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++buckets[static_cast<std::size_t>(bucket - kBounds.begin())];
  sum_seconds += seconds;
}

void TurnRecorder::Record(const LongTurn& turn, SteadyTime end) {
  {
    const MutexLock lock(mutex_);
    Kept& kept = kinds_[turn.kind];
    kept.counts.waited.Add(turn.waited);
    kept.counts.lengths.Add(turn.length);
    kept.counts.longest_wait = std::max(kept.counts.longest_wait, turn.waited);
    kept.counts.longest = std::max(kept.counts.longest, turn.length);
    const std::int64_t number = end.time_since_epoch() / kSlice;
    Slice& slice = kept.slices[static_cast<std::size_t>(number) % kSlices];
    if (slice.number != number) slice = {.number = number};
    slice.wait = std::max(slice.wait, turn.waited);
    slice.length = std::max(slice.length, turn.length);
  }
  if (turn.length > kLong && on_long_) on_long_(turn);
}

TurnRecorder::Counts TurnRecorder::Read(SteadyTime now) const {
  const std::int64_t number = now.time_since_epoch() / kSlice;
  Counts counts;
  const MutexLock lock(mutex_);
  for (const auto& [kind, kept] : kinds_) {
    TurnCounts& one = counts.emplace(kind, kept.counts).first->second;
    for (const Slice& slice : kept.slices) {
      if (slice.number + static_cast<std::int64_t>(kSlices) <= number) continue;
      one.longest_wait_of_minute = std::max(one.longest_wait_of_minute, slice.wait);
      one.longest_of_minute = std::max(one.longest_of_minute, slice.length);
    }
  }
  return counts;
}

void TurnLock::lock() {
  const std::uint32_t mine = next_.fetch_add(1, std::memory_order_relaxed);
  while (true) {
    const std::uint32_t serving = serving_.load(std::memory_order_acquire);
    if (serving == mine) return;
    serving_.wait(serving, std::memory_order_acquire);
  }
}

void TurnLock::unlock() {
  serving_.fetch_add(1, std::memory_order_release);
  serving_.notify_all();
}

Turn::Turn(TurnLock& lock, TurnRecorder& recorder, const Clock& clock, TurnKind kind,
           std::string_view detail)
    : lock_(lock),
      recorder_(recorder),
      clock_(clock),
      kind_(kind),
      detail_(detail),
      asked_at_(clock.Now().steady) {
  lock_.lock();
  began_at_ = clock_.Now().steady;
}

Turn::~Turn() {
  const SteadyTime end = clock_.Now().steady;
  lock_.unlock();
  recorder_.Record({.kind = kind_,
                    .detail = detail_,
                    .waited = began_at_ - asked_at_,
                    .length = end - began_at_},
                   end);
}

}  // namespace fabric::control
