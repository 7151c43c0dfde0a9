#include "agents/mesh/mesh.h"

#include <algorithm>
#include <utility>

#include "proto/timestamps.h"

namespace fabric::mesh {
namespace {

constexpr std::uint32_t kRateMax = 1000;  // Of the node
constexpr double kPortRateMax = 200;      // Of each port
constexpr double kLateRateMin = 0.5;      // Being late alone makes it no slower.
// Some are sent all the same, whatever they cost: below this nothing would be learnt.
constexpr Duration kSilenceMax = std::chrono::seconds(20);
constexpr std::uint32_t kWindowDefaultMs = 10'000;
constexpr std::uint32_t kWindowMinMs = 100;
constexpr Duration kCheckEvery = std::chrono::seconds(1);
constexpr Duration kExpireEvery = std::chrono::milliseconds(100);
// Times that software takes are spoilt by this.
constexpr Duration kLate = std::chrono::milliseconds(1);
// Pings that were under way meanwhile may have been answered in time and dropped.
constexpr Duration kTooLate = std::chrono::milliseconds(100);
constexpr double kSlower = 0.8;
constexpr double kFaster = 1.1;

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
    : verbs_(verbs),
      worker_(worker),
      find_device_(std::move(find_device)),
      busy_(std::move(busy)),
      send_(std::move(send)),
      budget_(options.cost_max) {}

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
  next_ping_ = due_ = last_ping_ = next_expiry_ = now.steady;
  was_late_ = false;
}

void Mesh::OnDone(std::unique_ptr<Job> job, Moment now) {
  job->Finish(now.steady);
  next_check_ = now.steady;
}

void Mesh::Step(Moment now, const StepInfo& info) {
  const bool late = info.late > kLate;
  was_late_ |= late;
  budget_.Count(now.steady, info.cost);
  for (auto& [name, port] : ports_) {
    if (info.late > kTooLate) port->Excuse();
    port->Look({.now = now.steady, .late = late, .may_stay_awake = budget_.solvent()});
  }
  if (now.steady >= next_check_) Check(now);
  if (now.steady >= next_expiry_) {
    next_expiry_ = now.steady + kExpireEvery;
    for (auto& [name, port] : ports_) port->Expire(now.steady);
  }
  PingDue(now.steady);
  if (!ports_.empty() && now.steady >= window_ends_) EndWindow(now);
}

bool Mesh::watching() const {
  return std::any_of(ports_.begin(), ports_.end(),
                     [](const auto& port) { return port.second->watching(); });
}

void Mesh::Glance(SteadyTime now, Duration unwatched) {
  for (auto& [name, port] : ports_) {
    if (!port->watching()) continue;
    const std::uint32_t sent = port->PingAgain(now);
    pings_ += sent;
    next_ping_ += sent * IntervalOf(rate_);
    port->Look({.now = now, .late = unwatched > kLate, .may_stay_awake = budget_.solvent()});
  }
}

void Mesh::Check(Moment now) {
  next_check_ = now.steady + kCheckEvery;
  for (auto& [name, port] : ports_) port->Check(now.steady);
  for (auto& port : retired_) port->Check(now.steady);
  std::erase_if(retired_, [](const auto& port) { return port->idle(); });
  if (now.steady - adapted_at_ >= kCheckEvery) Adapt(now.steady);
  if (!ports_.empty()) TellEndpoints();
}

// Slower at once when its own thread does not get its turn, faster step by step.
void Mesh::Adapt(SteadyTime now) {
  rate_ *= std::exchange(was_late_, false) ? kSlower : kFaster;
  rate_ = std::min(std::max(rate_, kLateRateMin), RateOf(order_));
  adapted_at_ = now;
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

// What the waking up for it has cost is paid for before the next one: what was due stays due.
void Mesh::PingDue(SteadyTime now) {
  if (ports_.empty() || rate_ <= 0) return;
  if (now >= due_) {
    // No burst after a pause.
    next_ping_ = std::max(next_ping_ + IntervalOf(rate_), now);
    if (Ping(now)) last_ping_ = now;
  }
  due_ = std::max(next_ping_, std::min(budget_.paid_at(), last_ping_ + kSilenceMax));
}

// Ports take turns; one that cannot ping now leaves its turn to the next.
bool Mesh::Ping(SteadyTime now) {
  auto at = ports_.upper_bound(turn_);
  for (std::size_t tried = 0; tried < ports_.size(); ++tried, ++at) {
    if (at == ports_.end()) at = ports_.begin();
    if (!at->second->Ping(now)) continue;
    ++pings_;
    turn_ = at->first;
    // It has left by now, more often than not.
    at->second->Look({.now = now, .may_stay_awake = budget_.solvent()});
    return true;
  }
  return false;
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
  SteadyTime next = next_check_;
  if (ports_.empty()) return next;
  if (rate_ > 0) next = std::min(next, due_);
  for (const auto& [name, port] : ports_)
    if (const auto report = port->next_report()) next = std::min(next, *report);
  return std::min(next, window_ends_);
}

std::vector<host::UdQueuePairs*> Mesh::waiting_on() const {
  std::vector<host::UdQueuePairs*> pairs;
  for (const auto& [name, port] : ports_)
    if (port->datagrams() != nullptr) pairs.push_back(port->datagrams());
  return pairs;
}

}  // namespace fabric::mesh
