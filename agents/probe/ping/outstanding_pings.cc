#include "agents/probe/ping/outstanding_pings.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace fabric::probe {

std::uint32_t OutstandingPings::Post(std::uint32_t flow, SteadyTime at) {
  pings_.push_back({.flow = flow, .posted = at, .seen = at});
  ++awaited_;
  return first_ + static_cast<std::uint32_t>(pings_.size()) - 1;
}

OutstandingPings::Ping* OutstandingPings::Find(std::uint32_t sequence) {
  if (sequence - first_ >= pings_.size()) return nullptr;
  Ping& ping = pings_[sequence - first_];
  return ping.settled ? nullptr : &ping;
}

void OutstandingPings::Departed(std::uint32_t sequence, std::uint64_t ticks, bool late) {
  Ping* const ping = Find(sequence);
  if (ping == nullptr || ping->departed) return;
  ping->departed = true;
  ping->left = ticks;
  ping->late |= late && !options_.hardware_clock;
  Settle(*ping);
}

void OutstandingPings::Answered(std::uint32_t sequence, std::uint64_t ticks, SteadyTime at,
                                bool late) {
  Ping* const ping = Find(sequence);
  if (ping == nullptr || ping->answered) return;
  if (ping->expired) {  // Not lost: the partner was late, unless the ping left late.
    EndVoid(*ping, ping->left_late);
    return Drop();
  }
  ping->answered = true;
  ping->came = ticks;
  ping->seen = at;
  ping->late |= late && !options_.hardware_clock;
  Settle(*ping);
}

void OutstandingPings::Reported(std::uint32_t sequence, Duration delay, bool late) {
  Ping* const ping = Find(sequence);
  if (ping == nullptr || ping->reported) return;
  ping->reported = true;
  ping->delay = delay;
  ping->late |= late;
  Settle(*ping);
}

void OutstandingPings::Seen(std::uint32_t sequence, std::uint64_t seen) {
  if (seen == 0) return;
  const auto known = static_cast<std::uint32_t>(std::bit_width(seen)) - 1;
  for (std::uint32_t n = 0; n < known; ++n) {
    Ping* const ping = Find(sequence - 1 - n);
    if (ping == nullptr) continue;
    // `true` is final; `false` may change when packets overtake each other.
    ping->arrived = ping->arrived.value_or(false) || (seen >> n & 1) != 0;
    if (ping->expired) EndLost(*ping);
  }
  Drop();
}

void OutstandingPings::Settle(Ping& ping) {
  if (!ping.departed || !ping.answered || !ping.reported) return;
  const Duration round = options_.elapsed(ping.left, ping.came);
  const Duration network = round - ping.delay;
  SettledPing settled{.flow = ping.flow,
                      .posted = ping.posted,
                      .outcome = SettledPing::Outcome::kAnswered,
                      .responder = ping.delay,
                      .initiator = ping.seen - ping.posted - round};
  // Software timestamps of departures are late, at times by more than the network round trip.
  settled.late = ping.late || network <= Duration::zero();
  if (!settled.late) settled.network = network;
  End(ping, std::move(settled));
  Drop();
}

void OutstandingPings::End(Ping& ping, SettledPing settled) {
  ping.settled = true;
  --awaited_;
  if (ping.expired) --expired_;
  options_.settled(settled);
}

void OutstandingPings::EndLost(Ping& ping) {
  End(ping, {.flow = ping.flow,
             .posted = ping.posted,
             .outcome = SettledPing::Outcome::kLost,
             .arrived = ping.arrived});
}

void OutstandingPings::EndVoid(Ping& ping, bool late_here) {
  End(ping, {.flow = ping.flow,
             .posted = ping.posted,
             .outcome = SettledPing::Outcome::kVoided,
             .late_here = late_here});
}

void OutstandingPings::Drop() {
  for (; !pings_.empty() && pings_.front().settled; ++first_) pings_.pop_front();
}

void OutstandingPings::MarkUnreliable() {
  for (Ping& ping : pings_) ping.unreliable = !ping.expired;
}

void OutstandingPings::Expire(SteadyTime now) {
  for (Ping& ping : pings_) {
    const Duration waited = now - ping.posted;
    if (waited <= options_.answer_within) break;
    if (ping.settled) continue;
    if (ping.answered) {  // Some times are missing.
      End(ping,
          {.flow = ping.flow, .posted = ping.posted, .outcome = SettledPing::Outcome::kAnswered});
    } else if (ping.unreliable) {
      EndVoid(ping, true);
    } else if (ping.arrived || waited > options_.answer_within + options_.report_within) {
      EndLost(ping);
    } else if (!ping.expired) {
      ping.expired = true;
      ping.left_late = !ping.departed;
      ++expired_;
    }
  }
  Drop();
}

std::uint64_t ReceivedPings::Take(std::uint32_t sequence) {
  if (!any_) {
    any_ = true;
    newest_ = sequence;
    return 1;  // No record of earlier pings
  }
  const std::uint32_t ahead = sequence - newest_;
  if (ahead == 0 || ahead >= 1U << 31) {  // Overtaken, or a duplicate
    const std::uint32_t behind = newest_ - sequence;
    if (behind > 0 && behind <= kKnownMax) before_ |= std::uint64_t{1} << (behind - 1);
    return 0;
  }
  before_ = ahead > kKnownMax ? 0 : before_ << ahead | std::uint64_t{1} << (ahead - 1);
  known_ = ahead > kKnownMax ? kKnownMax : std::min(known_ + ahead, kKnownMax);
  newest_ = sequence;
  const std::uint64_t top = std::uint64_t{1} << known_;
  return top | (before_ & (top - 1));
}

}  // namespace fabric::probe
