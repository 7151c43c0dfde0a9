#include "agents/subnet/window.h"

#include <algorithm>
#include <utility>

namespace fabric::agent {
namespace {

using subnet::MadClass;

// Low bits of a transaction id: index of the flight.
constexpr std::uint32_t kFlightBits = 11;
constexpr std::uint32_t kFlights = 1U << kFlightBits;
// Orders at the front of the queue that are tried when devices are busy.
constexpr std::size_t kLookAhead = 64;

bool IsSmp(const Order& order) {
  return order.mad_class == MadClass::kDirectedSubnet;
}

PaceLimits Bounded(PaceLimits limits) {
  limits.smps = std::clamp(limits.smps, 1U, Window::kOutstandingMax);
  limits.gmps = std::clamp(limits.gmps, 1U, Window::kOutstandingMax);
  limits.per_second = std::max(limits.per_second, 1U);
  return limits;
}

std::uint64_t KeyOf(const Order& order) {
  return (std::uint64_t{order.at.node} << 32) | (static_cast<std::uint32_t>(order.attribute) << 8) |
         static_cast<std::uint32_t>(order.mad_class);
}

}  // namespace

Window::Window(MadTransport& transport, const WindowOptions& options, Compose compose)
    : transport_(transport),
      options_(options),
      compose_(std::move(compose)),
      pace_(Bounded(options.pace)),
      flights_(kFlights) {
  static_assert(2 * kOutstandingMax <= kFlights);
  for (std::uint32_t i = kFlights; i > 0; --i) free_.push_back(i - 1);
}

bool Window::Ask(const Order& order) {
  if (queue_.size() >= kQueueMax) return false;
  queue_.push_back({.order = order});
  return true;
}

Window::DeviceState* Window::StateOf(const Order& order) {
  if (order.beyond || order.at.node == subnet::kNoNode) return nullptr;
  if (order.at.node >= devices_.size()) devices_.resize(order.at.node + 1);
  return &devices_[order.at.node];
}

bool Window::MaySend(const Order& order) {
  const DeviceState* const device = StateOf(order);
  if (IsSmp(order))
    return smps_ < pace_.smps() &&
           (device == nullptr || device->smps < std::max(pace_.smps() / 4, 1U));
  return gmps_ < pace_.gmps() &&
         (device == nullptr || device->gmps < std::max(pace_.gmps() / 8, 1U));
}

std::optional<Outcome> Window::OutcomeWithoutSending(const Order& order) {
  const DeviceState* const device = StateOf(order);
  if (device == nullptr) return std::nullopt;
  if (device->lost[IsSmp(order) ? 0 : 1] >= options_.silent_after) return Outcome::kSkipped;
  if (unsupported_.contains(KeyOf(order))) return Outcome::kRefused;
  return std::nullopt;
}

Status Window::Send(const Queued& next, SteadyTime now) {
  const std::uint32_t index = free_.back();
  generation_ = (generation_ + 1) & ((1U << (32 - kFlightBits)) - 1);
  if (generation_ == 0) generation_ = 1;
  const std::uint32_t transaction = generation_ << kFlightBits | index;
  RETURN_IF_ERROR(transport_.Send(compose_(next.order, transaction), options_.timeout));
  free_.pop_back();
  const SteadyTime deadline = now + options_.timeout;
  flights_[index] = {.order = next.order,
                     .deadline = deadline,
                     .transaction = transaction,
                     .tries = next.tries + 1};
  next_deadline_ = std::min(next_deadline_, deadline);
  ++(IsSmp(next.order) ? smps_ : gmps_);
  if (DeviceState* const device = StateOf(next.order); device != nullptr)
    ++(IsSmp(next.order) ? device->smps : device->gmps);
  ++sent_;
  return {};
}

Status Window::SendReady(SteadyTime now, std::vector<Done>& done) {
  std::size_t busy = 0;
  while (!queue_.empty() && busy < kLookAhead && busy < queue_.size()) {
    const Queued next = queue_.front();
    if (const auto outcome = OutcomeWithoutSending(next.order)) {
      queue_.pop_front();
      done.push_back({.order = next.order, .outcome = *outcome});
      continue;
    }
    if (!MaySend(next.order)) {
      queue_.pop_front();
      queue_.push_back(next);
      ++busy;
      continue;
    }
    if (!pace_.Take(now)) return {};
    queue_.pop_front();
    RETURN_IF_ERROR(Send(next, now));
  }
  return {};
}

Order Window::Land(Flight& flight) {
  const Order order = flight.order;
  --(IsSmp(order) ? smps_ : gmps_);
  if (DeviceState* const device = StateOf(order); device != nullptr)
    --(IsSmp(order) ? device->smps : device->gmps);
  flight.transaction = 0;
  free_.push_back(static_cast<std::uint32_t>(&flight - flights_.data()));
  return order;
}

void Window::OnLost(Flight& flight, SteadyTime now, std::vector<Done>& done) {
  const std::uint32_t tries = flight.tries;
  const Order order = Land(flight);
  ++lost_;
  DeviceState* const device = StateOf(order);
  if (device != nullptr && device->answered) pace_.OnLoss(now);
  if (tries < options_.tries) {
    // At the end: the others go first, which gives the device time.
    queue_.push_back({.order = order, .tries = tries});
    return;
  }
  if (device != nullptr) ++device->lost[IsSmp(order) ? 0 : 1];
  done.push_back({.order = order, .outcome = Outcome::kLost});
}

void Window::Expire(SteadyTime now, std::vector<Done>& done) {
  if (now < next_deadline_) return;
  next_deadline_ = SteadyTime::max();
  for (Flight& flight : flights_) {
    if (flight.transaction == 0) continue;
    if (flight.deadline <= now)
      OnLost(flight, now, done);
    else
      next_deadline_ = std::min(next_deadline_, flight.deadline);
  }
}

void Window::OnAnswer(Flight& flight, const subnet::MadAnswer& answer, SteadyTime now,
                      std::vector<Done>& done) {
  if (answer.status == subnet::kStatusBusy) return OnLost(flight, now, done);
  const Order order = Land(flight);
  pace_.OnAnswer(now);
  if (DeviceState* const device = StateOf(order); device != nullptr) {
    device->answered = true;
    device->lost[IsSmp(order) ? 0 : 1] = 0;
  }
  if (answer.status == subnet::kStatusNotSupported) unsupported_.insert(KeyOf(order));
  done.push_back({.order = order,
                  .outcome = answer.status == 0 ? Outcome::kAnswered : Outcome::kRefused,
                  .answer = answer});
}

void Window::OnPacket(const MadPacket& packet, SteadyTime now, std::vector<Done>& done) {
  const auto flight_of = [&](std::uint32_t transaction) -> Flight* {
    Flight& flight = flights_[transaction & (kFlights - 1)];
    return transaction != 0 && flight.transaction == transaction ? &flight : nullptr;
  };
  if (packet.lost) {
    if (Flight* const flight = flight_of(subnet::TransactionOf(packet.mad)); flight != nullptr)
      OnLost(*flight, now, done);
    return;
  }
  const auto answer = subnet::Decode(packet.mad);
  Flight* const flight = answer ? flight_of(answer->transaction) : nullptr;
  if (flight == nullptr || answer->mad_class != flight->order.mad_class ||
      answer->attribute != flight->order.attribute || answer->modifier != flight->order.modifier) {
    ++stray_;
    return;
  }
  OnAnswer(*flight, *answer, now, done);
}

Status Window::Step(SteadyTime now, Duration wait, std::vector<Done>& done) {
  Expire(now, done);
  RETURN_IF_ERROR(SendReady(now, done));
  if (!done.empty()) return {};
  SteadyTime until = std::min(now + wait, next_deadline_);
  if (!queue_.empty()) until = std::min(until, std::max(pace_.NextAt(now), now));
  // The pace permits to send, but the windows are full.
  if (until <= now) until = std::min(now + wait, next_deadline_);
  ASSIGN_OR_RETURN(auto packet, transport_.Receive(std::max<Duration>(until - now, Duration(0))));
  for (std::size_t i = 0; packet && i < kOutstandingMax; ++i) {
    OnPacket(*packet, now, done);
    ASSIGN_OR_RETURN(packet, transport_.Receive(Duration(0)));
  }
  // The last one, if there were more than the bound.
  if (packet) OnPacket(*packet, now, done);
  return {};
}

}  // namespace fabric::agent
