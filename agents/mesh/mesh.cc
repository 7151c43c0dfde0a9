#include "agents/mesh/mesh.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/timestamps.h"

namespace fabric::mesh {
namespace {

constexpr std::uint32_t kRateMax = 1000;  // Of the node
constexpr double kPortRateMax = 200;      // Of each port
constexpr double kRateMin = 0.5;          // When its own thread does not get its turn
// So often it pings whatever that costs: from less nothing would be learnt.
constexpr Duration kSilenceMax = std::chrono::seconds(3);
constexpr std::uint32_t kWindowDefaultMs = 10'000;
constexpr std::uint32_t kWindowMinMs = 100;
constexpr Duration kCheckEvery = std::chrono::seconds(1);
// To wake up for a check alone costs more than the check: it waits so long for something else.
constexpr Duration kCheckWaits = std::chrono::seconds(4);
constexpr Duration kExpireEvery = std::chrono::milliseconds(100);
// Times that software takes are spoilt by this.
constexpr Duration kLate = std::chrono::milliseconds(1);
// Pings that were under way meanwhile may have been answered in time and dropped.
constexpr Duration kTooLate = std::chrono::milliseconds(100);
constexpr double kSlower = 0.8;
constexpr double kFasterEachSecond = 1.1;

Duration WindowOf(const v1::MeshOrder& order) {
  const std::uint32_t ms = order.window_ms() == 0 ? kWindowDefaultMs : order.window_ms();
  return std::chrono::milliseconds(std::max(ms, kWindowMinMs));
}

double RateOf(const v1::MeshOrder& order) {
  return std::min(static_cast<double>(std::min(order.pings_per_second(), kRateMax)),
                  kPortRateMax * order.ports_size());
}

Duration IntervalOf(double rate) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate));
}

}  // namespace

Mesh::Mesh(MeshOptions options, host::Verbs& verbs, Worker& worker, FindDevice find_device,
           Busy busy, Send send)
    : options_(options),
      verbs_(verbs),
      worker_(worker),
      find_device_(std::move(find_device)),
      busy_(std::move(busy)),
      send_(std::move(send)) {}

void Mesh::SetOrder(const v1::MeshOrder& order, Moment now) {
  const bool fresh = ports_.empty();
  if (!fresh && order.number() != order_.number()) EndWindow(now);  // It was of the order before.
  order_ = order;
  std::map<PortName, std::unique_ptr<Port>> before = std::exchange(ports_, {});
  for (const v1::MeshPortOrder& wanted : order_.ports()) {
    const PortName name(wanted.local().device(), wanted.local().port());
    std::unique_ptr<Port>& port = ports_[name];
    if (const auto known = before.find(name); known != before.end())
      port = std::move(known->second);
    if (port == nullptr)
      port = std::make_unique<Port>(
          wanted.local(),
          Port::Outside{
              .verbs = verbs_, .worker = worker_, .find_device = find_device_, .busy = busy_});
    port->SetOrder(wanted, order_, now.steady);
  }
  for (auto& [name, port] : before) {
    if (port == nullptr) continue;
    port->Retire();
    retired_.push_back(std::move(port));
  }
  const double most = RateOf(order_);
  rate_ = fresh || rate_ <= 0 ? most : std::min(rate_, most);
  told_.clear();
  next_check_ = now.steady;
  if (!fresh) return;
  window_began_ = now;
  window_ends_ = now.steady + WindowOf(order_);
  next_ping_ = next_expiry_ = now.steady;
  silence_ends_ = now.steady + kSilenceMax;
  rate_at_ = now.steady;
  was_late_ = false;
}

void Mesh::OnDone(std::unique_ptr<Job> job, Moment now) {
  job->Finish(now.steady);
  next_check_ = now.steady;
}

void Mesh::Look(SteadyTime now, Duration late) {
  const bool spoilt = late > kLate;
  was_late_ |= spoilt;
  for (auto& [name, port] : ports_) {
    if (late > kTooLate) port->Excuse();
    port->Take(now, spoilt);
  }
}

// What is due waits for nothing else.
void Mesh::Step(Moment now) {
  PingDue(now.steady);
  for (auto& [name, port] : ports_) port->TakeAndArm(now.steady);
  if (now.steady >= next_check_) Check(now);
  AdaptRate(now.steady);
  if (now.steady >= next_expiry_) {
    next_expiry_ = now.steady + kExpireEvery;
    for (auto& [name, port] : ports_) port->Expire(now.steady);
  }
  if (!ports_.empty() && now.steady >= window_ends_) EndWindow(now);
}

// What was used is owed until so much time has passed that the mesh may have used it.
void Mesh::Charge(SteadyTime now, Duration cost) {
  if (charged_at_ != SteadyTime()) {
    const auto earned =
        std::chrono::duration_cast<Duration>(options_.cost_max * (now - charged_at_));
    owed_ = std::max(owed_ + (cost - cost_) - earned, Duration::zero());
  }
  charged_at_ = now;
  cost_ = cost;
}

void Mesh::Check(Moment now) {
  next_check_ = now.steady + kCheckEvery;
  for (auto& [name, port] : ports_) port->Check(now.steady);
  for (auto& port : retired_) port->Check(now.steady);
  std::erase_if(retired_, [](const auto& port) { return port->idle(); });
  if (!ports_.empty()) TellEndpoints();
}

// Slower when its own thread does not get its turn, then faster again, however often it steps.
void Mesh::AdaptRate(SteadyTime now) {
  const double seconds = std::chrono::duration<double>(now - rate_at_).count();
  if (seconds < 1) return;
  rate_at_ = now;
  rate_ *= std::exchange(was_late_, false) ? kSlower : std::pow(kFasterEachSecond, seconds);
  rate_ = std::min(std::max(rate_, kRateMin), RateOf(order_));
}

void Mesh::TellEndpoints() {
  v1::AgentMessage message;
  for (const auto& [name, port] : ports_)
    *message.mutable_mesh_endpoints()->add_endpoints() = port->Endpoint();
  std::string now = message.SerializeAsString();
  if (now == told_) return;
  told_ = std::move(now);
  send_(message);
}

// Not before the last ones are paid for.
SteadyTime Mesh::PingAt() const {
  const auto paid = charged_at_ + std::chrono::duration_cast<Duration>(owed_ / options_.cost_max);
  return std::max(next_ping_, std::min(paid, silence_ends_));
}

// Ports take turns; one that cannot ping now leaves its turn to the next.
void Mesh::PingDue(SteadyTime now) {
  if (ports_.empty() || rate_ <= 0 || now < PingAt()) return;
  // No burst after a pause.
  next_ping_ = std::max(next_ping_ + IntervalOf(rate_), now);
  silence_ends_ = now + kSilenceMax;
  auto at = ports_.upper_bound(turn_);
  for (std::size_t tried = 0; tried < ports_.size(); ++tried, ++at) {
    if (at == ports_.end()) at = ports_.begin();
    if (!at->second->Ping(now)) continue;
    ++pings_;
    turn_ = at->first;
    return;
  }
}

void Mesh::EndWindow(Moment now) {
  v1::AgentMessage message;
  v1::MeshWindow& window = *message.mutable_mesh_window();
  window.set_order(order_.number());
  *window.mutable_started_at() = ToProto(window_began_.wall);
  *window.mutable_ended_at() = ToProto(now.wall);
  for (auto& [name, port] : ports_) port->TakeWindow(window);
  const double passed = std::chrono::duration<double>(now.steady - window_began_.steady).count();
  if (passed > 0) window.set_pings_per_second(pings_ / passed);
  pings_ = 0;
  window_began_ = now;
  window_ends_ = now.steady + WindowOf(order_);
  send_(message);
}

SteadyTime Mesh::next_step() const {
  if (idle()) return SteadyTime::max();
  SteadyTime next = next_check_ + kCheckWaits;
  if (ports_.empty()) return next;
  if (rate_ > 0) next = std::min(next, PingAt());
  return std::min(next, window_ends_);
}

std::vector<host::UdQueuePairs*> Mesh::waiting_on() const {
  std::vector<host::UdQueuePairs*> pairs;
  for (const auto& [name, port] : ports_)
    if (port->datagrams() != nullptr) pairs.push_back(port->datagrams());
  return pairs;
}

}  // namespace fabric::mesh
