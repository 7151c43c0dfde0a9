#include "agents/mesh/mesh.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "proto/timestamps.h"

namespace fabric::mesh {
namespace {

constexpr std::uint32_t kRateMax = 1000;  // Of the node
constexpr double kPortRateMax = 200;      // Of each port
constexpr double kRateMin = 0.5;          // On a starved host
// Longest time between pings, regardless of processor time: fewer pings would show nothing.
constexpr Duration kPingIntervalMax = std::chrono::seconds(3);
constexpr std::uint32_t kWindowDefaultMs = 10'000;
constexpr std::uint32_t kWindowMinMs = 100;
constexpr Duration kCheckEvery = std::chrono::seconds(1);
// A wake-up costs more than a check: a due check waits up to this long for another wake-up.
constexpr Duration kCheckDelayMax = std::chrono::seconds(4);
constexpr Duration kExpireEvery = std::chrono::milliseconds(100);
// Software timestamps taken this late are wrong.
constexpr Duration kLate = std::chrono::milliseconds(1);
// Answers to outstanding pings may have arrived in time and been dropped.
constexpr Duration kTooLate = std::chrono::milliseconds(100);
constexpr double kSlower = 0.8;
constexpr double kFasterEachSecond = 1.1;

Duration WindowOf(const v1::MeshAssignment& order) {
  const std::uint32_t ms = order.window_ms() == 0 ? kWindowDefaultMs : order.window_ms();
  return std::chrono::milliseconds(std::max(ms, kWindowMinMs));
}

double RateOf(const v1::MeshAssignment& order) {
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

void Mesh::SetOrder(const v1::MeshAssignment& order, Moment now) {
  const bool fresh = ports_.empty();
  if (!fresh && order.number() != order_.number()) EndWindow(now);  // Of the previous order
  order_ = order;
  std::map<PortName, std::unique_ptr<Port>> before = std::exchange(ports_, {});
  for (const v1::MeshPortAssignment& wanted : order_.ports()) {
    const PortName name(wanted.local().device(), wanted.local().port());
    std::unique_ptr<Port>& port = ports_[name];
    if (const auto known = before.find(name); known != before.end())
      port = std::move(known->second);
    if (port == nullptr)
      port = std::make_unique<Port>(
          wanted.local(),
          Port::Environment{
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
  sent_endpoints_.clear();
  next_check_ = now.steady;
  if (!fresh) return;
  window_began_ = now;
  window_ends_ = now.steady + WindowOf(order_);
  next_ping_ = next_expiry_ = now.steady;
  ping_latest_ = now.steady + kPingIntervalMax;
  rate_at_ = now.steady;
  was_late_ = false;
}

void Mesh::OnDone(std::unique_ptr<Job> job, Moment now) {
  job->Finish(now.steady);
  next_check_ = now.steady;
}

void Mesh::Poll(SteadyTime now, Duration late) {
  const bool is_late = late > kLate;
  was_late_ |= is_late;
  for (auto& [name, port] : ports_) {
    if (late > kTooLate) port->MarkUnreliable();
    port->Take(now, is_late);
  }
}

// The ping comes first: it must not wait for other work.
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

// The debt grows by the processor time used and shrinks by the share allowed.
void Mesh::Charge(SteadyTime now, Duration processor_time) {
  if (charged_at_ != SteadyTime()) {
    const auto earned =
        std::chrono::duration_cast<Duration>(options_.cost_max * (now - charged_at_));
    cpu_debt_ = std::max(cpu_debt_ + (processor_time - charged_) - earned, Duration::zero());
  }
  charged_at_ = now;
  charged_ = processor_time;
}

void Mesh::Check(Moment now) {
  next_check_ = now.steady + kCheckEvery;
  for (auto& [name, port] : ports_) port->Check(now.steady);
  for (auto& port : retired_) port->Check(now.steady);
  std::erase_if(retired_, [](const auto& port) { return port->idle(); });
  if (!ports_.empty()) SendEndpoints();
}

// Slows down while the host starves this thread, then speeds up again; independent of the number of
// steps.
void Mesh::AdaptRate(SteadyTime now) {
  const double seconds = std::chrono::duration<double>(now - rate_at_).count();
  if (seconds < 1) return;
  rate_at_ = now;
  rate_ *= std::exchange(was_late_, false) ? kSlower : std::pow(kFasterEachSecond, seconds);
  rate_ = std::min(std::max(rate_, kRateMin), RateOf(order_));
}

void Mesh::SendEndpoints() {
  v1::AgentMessage message;
  for (const auto& [name, port] : ports_)
    *message.mutable_mesh_endpoints()->add_endpoints() = port->Endpoint();
  std::string now = message.SerializeAsString();
  if (now == sent_endpoints_) return;
  sent_endpoints_ = std::move(now);
  send_(message);
}

// Once the debt is paid.
SteadyTime Mesh::PingAt() const {
  const auto paid =
      charged_at_ + std::chrono::duration_cast<Duration>(cpu_debt_ / options_.cost_max);
  return std::max(next_ping_, std::min(paid, ping_latest_));
}

// Ports ping in rotation. Skips ports that cannot ping now.
void Mesh::PingDue(SteadyTime now) {
  if (ports_.empty() || rate_ <= 0 || now < PingAt()) return;
  // No burst after a pause.
  next_ping_ = std::max(next_ping_ + IntervalOf(rate_), now);
  ping_latest_ = now + kPingIntervalMax;
  auto at = ports_.upper_bound(last_pinged_);
  for (std::size_t tried = 0; tried < ports_.size(); ++tried, ++at) {
    if (at == ports_.end()) at = ports_.begin();
    if (!at->second->Ping(now)) continue;
    ++pings_;
    last_pinged_ = at->first;
    return;
  }
}

void Mesh::EndWindow(Moment now) {
  v1::AgentMessage message;
  v1::MeshWindow& window = *message.mutable_mesh_window();
  window.set_assignment(order_.number());
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
  SteadyTime next = next_check_ + kCheckDelayMax;
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
