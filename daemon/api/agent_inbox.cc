#include "daemon/api/agent_inbox.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fabric::api {
namespace {

constexpr double kBurst = 10;  // Seconds
constexpr Duration kReportEvery = std::chrono::seconds(10);

double SecondsOf(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void Budget::Refill(SteadyTime now) {
  const auto rate = static_cast<double>(rate_.limit);
  left_ = std::min(kBurst * rate, left_ + rate * SecondsOf(now - filled_at_));
  filled_at_ = now;
  if (left_ < kBurst * rate) return;
  full_at_ = now;
  spent_ = 0;
}

void Budget::Spend(std::uint64_t amount, SteadyTime now) {
  Refill(now);
  left_ -= static_cast<double>(amount);
  spent_ += amount;
}

Duration Budget::Wait(SteadyTime now) {
  Refill(now);
  if (left_ >= 0) return Duration::zero();
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(-left_ / static_cast<double>(rate_.limit)));
}

Excess Budget::ToExcess(SteadyTime now) const {
  const double seconds = std::max(1.0, SecondsOf(now - full_at_));
  return {.bound = &rate_,
          .seen = static_cast<std::uint64_t>(static_cast<double>(spent_) / seconds)};
}

void AgentInbox::Put(Item item, SteadyTime now) {
  const bool settings =
      item.message && (item.message->has_change() || item.message->has_snapshot());
  const bool counts = item.message.has_value();
  const std::size_t bytes = item.bytes;
  memory_ += item.memory;
  items_.push_back(std::move(item));
  if (!counts) return;
  Spend(messages_, 1, now);
  Spend(traffic_, bytes, now);
  if (settings) Spend(changes_, 1, now);
}

void AgentInbox::Spend(Budget& budget, std::uint64_t amount, SteadyTime now) {
  budget.Spend(amount, now);
  if (budget.Wait(now) == Duration::zero()) return;
  if (reported_at_ && now - *reported_at_ < kReportEvery) return;
  reported_at_ = now;
  items_.push_back({.excess = budget.ToExcess(now)});
}

AgentInbox::Item AgentInbox::Take() {
  Item item = std::move(items_.front());
  items_.pop_front();
  memory_ -= item.memory;
  return item;
}

std::optional<Duration> AgentInbox::ReadIn(SteadyTime now) {
  if (items_.size() >= Limit("inbox_messages") || memory_ >= Limit("inbox_memory"))
    return std::nullopt;
  return std::max({messages_.Wait(now), traffic_.Wait(now), changes_.Wait(now)});
}

}  // namespace fabric::api
