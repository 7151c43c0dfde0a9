#include "daemon/control/mesh/mesh.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "proto/bounds.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kOrdersAtOnce = 64;  // Per tick; the next tick continues.
constexpr std::uint32_t kWindowMs = 10'000;
constexpr std::uint32_t kAnswerWithinMs = 500;
constexpr std::uint32_t kFlowRateMax = 10;  // Pings per second of one flow
// Time that a window waits in addition to lost_after.
constexpr Duration kHoldBeyond = 2s;
constexpr Duration kJudgeEvery = 10s;
constexpr Duration kWindowMax = 60s;
// Number of flows up to which the counts of all flows are kept; beyond it, of pairs with loss only.
constexpr std::size_t kFlowsKeptMax = 300'000;
constexpr std::size_t kVotesOfTurn = 32;     // Nodes, for the class of the jobs
constexpr std::size_t kTargetsOfTurn = 64;   // Of orders
constexpr std::size_t kPathsOfTurn = 2'048;  // Of windows
constexpr double kPingsMax = 1e6;
// Orders of one run of the controller: more than 1,000 in each second, because earlier versions
// numbered orders by milliseconds.
constexpr int kEpochShift = 20;

// Length of the window, within bounds: agents' clocks may be wrong.
Duration LengthOf(const v1::MeshWindow& window) {
  constexpr std::int64_t kSecondsMax = 9'000'000'000;
  for (const auto* at : {&window.started_at(), &window.ended_at()})
    if (at->seconds() < 0 || at->seconds() > kSecondsMax) return kWindowMax;
  const auto from = FromProto(window.started_at());
  const auto to = FromProto(window.ended_at());
  return std::clamp<Duration>(to - from, Duration::zero(), kWindowMax);
}

}  // namespace

Mesh::Mesh(const MeshSettings& settings, Sources sources, Sessions& agents, std::uint64_t epoch,
           Moment now)
    : settings_(settings),
      sources_(std::move(sources)),
      hold_(sources_.lost_after + kHoldBeyond),
      agents_(agents),
      changed_at_(now.steady),
      planned_at_(now.steady - kPlanEvery),
      judged_at_(now.steady),
      // Agents may still execute an order from an earlier run of the controller.
      next_number_(epoch << kEpochShift) {
  status_.set_enabled(settings_.on);
  if (!settings_.on) status_.set_reason("the mesh is off: start fabricd with --mesh on");
  status_.set_paths_per_leaf_pair(settings_.paths);
  status_.set_flow_labels_per_leaf_pair(plan::FlowsToCover(std::max(1u, settings_.paths)));
}

void Mesh::OnFleetChange(Moment now) {
  changed_ = true;
  changed_at_ = now.steady;
}

void Mesh::OnEndpoints(const Session& session, const v1::MeshEndpoints& report, Moment now) {
  if (!settings_.on) return End(session);
  const std::string& node = session.node.name();
  nodes_[node].joined = true;
  std::size_t kept = EndpointsOf(node);
  for (const v1::MeshEndpoint& one : report.endpoints()) {
    if (one.port().node() != node) continue;  // Nobody speaks for another node.
    const std::string name = plan::PortName(one.port());
    if (kept >= Limit("MeshEndpoints.endpoints") && !endpoints_.contains(name)) continue;
    const auto [at, fresh] = endpoints_.try_emplace(name);
    if (fresh) ++kept;
    Endpoint& known = at->second;
    known.reason = one.reason();
    if (!fresh && known.endpoint.SerializeAsString() == one.endpoint().SerializeAsString())
      continue;
    known.endpoint = one.endpoint();
    known.changed_at = now.steady;
    known.since = next_number_;
    OnFleetChange(now);
  }
}

std::size_t Mesh::EndpointsOf(const std::string& node) const {
  std::size_t number = 0;
  const std::string prefix = node + "/";
  for (auto at = endpoints_.lower_bound(prefix);
       at != endpoints_.end() && at->first.starts_with(prefix); ++at)
    ++number;
  return number;
}

void Mesh::OnLost(const std::string& node, Moment now) {
  if (!settings_.on) return;
  nodes_.erase(node);
  const std::string prefix = node + "/";
  for (auto at = endpoints_.lower_bound(prefix);
       at != endpoints_.end() && at->first.starts_with(prefix); ++at) {
    at->second = {.endpoint = {}, .reason = "the agent is not connected", .changed_at = now.steady};
  }
  OnFleetChange(now);
}

void Mesh::OnRemoved(const std::string& node, Moment now) {
  OnLost(node, now);
  const std::string prefix = node + "/";
  const auto begin = endpoints_.lower_bound(prefix);
  endpoints_.erase(begin, std::find_if(begin, endpoints_.end(), [&](const auto& one) {
                     return !one.first.starts_with(prefix);
                   }));
}

void Mesh::OnWindow(const Session& session, const v1::MeshWindow& window, Moment now) {
  if (!settings_.on) return End(session);
  const std::size_t bytes = window.SpaceUsedLong();
  if (arrived_bytes_ + bytes > Limit("mesh_windows_bytes")) return;
  arrived_bytes_ += bytes;
  arrived_.push_back({.began = now.steady - LengthOf(window),
                      .arrived = now.steady,
                      .node = session.node.name(),
                      .bytes = bytes,
                      .window = window});
}

// New sessions start without an order.
void Mesh::NoteSessions(Moment now) {
  for (const auto& [id, session] : agents_.all()) {
    if (!session.reported || session.silent) continue;
    Node& node = nodes_[session.node.name()];
    if (node.session == id) continue;
    node = {.session = id};
    out_of_date_.insert(session.node.name());
    OnFleetChange(now);
  }
}

void Mesh::Tick(Moment now) {
  orders_left_ = kOrdersAtOnce;
  if (settings_.on && changed_) NoteSessions(now);
}

// Orders and windows go on while a plan is made or judged. Windows wait while their counts move to
// a new plan.
bool Mesh::Continue(const fleet::Fleet& fleet, Moment now) {
  if (!settings_.on) return false;
  if (!IsBusy() && NeedsPlan(now)) {
    if (sources_.classes.Advance(kVotesOfTurn)) return true;
    BeginPlan(now);
  }
  if (planning_ != nullptr && ContinuePlan(fleet)) return true;
  if (SendOrders() || CountWindows(now)) return true;
  if (!IsBusy() && now.steady - judged_at_ >= kJudgeEvery) {
    judged_at_ = now.steady;
    if (!std::exchange(fresh_, false)) return false;
    judgement_ = std::make_unique<MeshJudgement>(layout_);
    step_ = Step::kFirst;
  }
  return judgement_ != nullptr && ContinueJudgement(now);
}

// The mesh is off, but the agent still pings for an earlier run of the controller.
void Mesh::End(const Session& session) {
  v1::ControllerMessage message;
  message.mutable_mesh_assignment()->set_number(next_number_++);
  agents_.Send(session.id, message);
}

// Reason why the port cannot be pinged; empty if it can.
std::string Mesh::Obstacle(const v1::ProbePort& port) const {
  const auto known = endpoints_.find(plan::PortName(port));
  if (known != endpoints_.end() && known->second.known()) return {};
  if (known != endpoints_.end() && !known->second.reason.empty()) return known->second.reason;
  const auto node = nodes_.find(port.node());
  const bool joined = node != nodes_.end() && node->second.joined;
  return joined ? "the agent reported no endpoint for this port"
                : "the agent has not joined the mesh";
}

v1::MeshAssignment Mesh::OrderOf(const std::string& node) const {
  v1::MeshAssignment order;
  std::uint32_t flows = 0;
  const auto places = layout_.places.find(node);
  if (places == layout_.places.end()) return order;
  std::map<std::string, v1::MeshPortAssignment*> ports;
  order.mutable_ports()->Reserve(static_cast<int>(places->second.candidates.size()));
  for (const std::size_t n : places->second.candidates) {
    v1::MeshPortAssignment& port = *order.add_ports();
    *port.mutable_local() = layout_.candidates[n].port;
    ports.emplace(plan::PortName(port.local()), &port);
  }
  for (const plan::PortIndex from : places->second.ports) {
    const auto port = ports.find(plan::PortName(layout_.plan.ports[from].port));
    if (port == ports.end()) continue;
    for (const plan::MeshPair& pair : layout_.PairsFrom(from)) {
      const v1::ProbePort& to = layout_.plan.ports[pair.ports.to].port;
      const auto known = endpoints_.find(plan::PortName(to));
      if (known == endpoints_.end() || !known->second.known()) continue;
      v1::MeshTarget& target = *port->second->add_targets();
      *target.mutable_remote() = to;
      *target.mutable_endpoint() = known->second.endpoint;
      const std::vector<std::uint32_t> labels = plan::FlowLabelsOf(layout_.plan, pair);
      target.mutable_flow_labels()->Assign(labels.begin(), labels.end());
      flows += pair.flows();
    }
  }
  order.set_pings_per_second(std::min(settings_.pings_per_second, kFlowRateMax * flows));
  order.set_window_ms(kWindowMs);
  order.set_traffic_class(class_.traffic_class());
  SetQueuePair(class_, *order.mutable_queue_pair());
  if (order.queue_pair().ByteSizeLong() == 0) order.clear_queue_pair();
  order.set_answer_within_ms(kAnswerWithinMs);
  return order;
}

// Sends only orders that have changed. True: there are more for this tick.
bool Mesh::SendOrders() {
  if (!agents_.MayOrder() || layout_.candidates.empty()) return false;
  std::size_t targets = 0;
  while (orders_left_ > 0 && !out_of_date_.empty()) {
    if (targets >= kTargetsOfTurn) return true;
    --orders_left_;
    const std::string name = *out_of_date_.begin();
    out_of_date_.erase(out_of_date_.begin());
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) continue;
    v1::ControllerMessage message;
    v1::MeshAssignment& order = *message.mutable_mesh_assignment();
    order = OrderOf(name);
    for (const v1::MeshPortAssignment& port : order.ports())
      targets += static_cast<std::size_t>(port.targets_size());
    std::string text = order.SerializeAsString();
    if (text == node->second.sent) continue;
    node->second.sent = std::move(text);
    order.set_number(next_number_++);
    agents_.Send(node->second.session, message);
  }
  return false;
}

// Counts the windows that have waited long enough. True: there are more.
bool Mesh::CountWindows(Moment now) {
  const bool moving = planning_ != nullptr && step_ == Step::kAnswered;
  std::size_t paths = 0;
  while (!moving && !arrived_.empty() && now.steady - arrived_.front().arrived >= hold_) {
    if (paths >= kPathsOfTurn) return true;
    Arrived& oldest = arrived_.front();
    paths += static_cast<std::size_t>(oldest.window.paths_size());
    Count(oldest);
    arrived_bytes_ -= oldest.bytes;
    arrived_.pop_front();
  }
  return false;
}

// A window counts if both ends were connected all the time and the endpoint was current: an agent
// that stops destroys its queue pairs, which is not a loss of the network.
bool Mesh::Counts(const Arrived& arrived, const std::string& from, const std::string& to) const {
  const auto one = endpoints_.find(from);
  const auto other = endpoints_.find(to);
  return one != endpoints_.end() && other != endpoints_.end() && one->second.known() &&
         other->second.known() && one->second.changed_at < arrived.began &&
         other->second.changed_at < arrived.began &&
         arrived.window.assignment() >= other->second.since;
}

void Mesh::Count(Arrived& arrived) {
  const auto node = nodes_.find(arrived.node);
  if (node == nodes_.end()) return;
  const double rate = arrived.window.pings_per_second();
  node->second.pings_per_second = std::isfinite(rate) ? std::clamp(rate, 0.0, kPingsMax) : 0;
  for (v1::MeshPath& path : *arrived.window.mutable_paths()) {
    if (path.from().node() != arrived.node || !Sound(path.ping())) continue;
    const std::string from = plan::PortName(path.from());
    const std::string to = plan::PortName(path.to());
    const auto pair = layout_.Find(from, to);
    if (!pair || !Counts(arrived, from, to)) continue;
    MeshCounts& counts = counts_[*pair];
    const std::size_t kept = counts.flows_kept();
    counts.Add(std::move(*path.mutable_ping()), flows_kept_ < kFlowsKeptMax);
    flows_kept_ += counts.flows_kept() - kept;
    fresh_ = true;
  }
  ++node->second.windows;
}

}  // namespace fabric::control
