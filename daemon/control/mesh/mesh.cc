#include "daemon/control/mesh/mesh.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "daemon/control/campaigns/class_comparison.h"
#include "daemon/plan/ports.h"
#include "proto/bounds.h"
#include "proto/coverage.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;

// Delay after a change, because more follow: a leaf that comes up brings its nodes one by one.
constexpr Duration kSettleFor = 1s;
constexpr Duration kPlanEvery = 5s;
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
// Maximum number of pairs with loss and of others for blame, which takes about 4 us for each, under
// the controller's lock.
constexpr std::size_t kMeshObservationsMax = 10'000;
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

void Mesh::Tick(const fleet::Fleet& fleet, Moment now) {
  if (!settings_.on) return;
  if (changed_) NoteSessions(now);
  const bool settled = now.steady - changed_at_ >= kSettleFor;
  const Duration planned = now.steady - planned_at_;
  if (changed_ && planned >= kPlanEvery && (settled || planned >= 2 * kPlanEvery))
    MakePlan(fleet, now);
  if (agents_.MayOrder()) SendOrders(now);
  while (!arrived_.empty() && now.steady - arrived_.front().arrived >= hold_) {
    Count(arrived_.front());
    arrived_bytes_ -= arrived_.front().bytes;
    arrived_.pop_front();
  }
  if (now.steady - judged_at_ >= kJudgeEvery) Judge(now);
}

// The mesh is off, but the agent still pings for an earlier run of the controller.
void Mesh::End(const Session& session) {
  v1::ControllerMessage message;
  message.mutable_mesh_assignment()->set_number(next_number_++);
  agents_.Send(session.id, message);
}

// Reason why the port cannot be pinged; empty if it can.
std::string Mesh::Obstacle(const plan::Port& port) const {
  const auto known = endpoints_.find(plan::PortName(port.port));
  if (known != endpoints_.end() && known->second.known()) return {};
  if (known != endpoints_.end() && !known->second.reason.empty()) return known->second.reason;
  const auto node = nodes_.find(port.port.node());
  const bool joined = node != nodes_.end() && node->second.joined;
  return joined ? "the agent reported no endpoint for this port"
                : "the agent has not joined the mesh";
}

void Mesh::MakePlan(const fleet::Fleet& fleet, Moment now) {
  changed_ = false;
  planned_at_ = now.steady;
  const fleet::FleetView view(fleet);
  v1::CampaignSpec all;
  all.set_include_busy(true);  // The load of pings is negligible for a job.
  ChooseClass();
  SetQueuePair(class_, *all.add_probes()->mutable_queue_pair());
  const auto found = plan::FindPorts(view, all, {}, sources_.sites);
  if (!found.ok()) return;  // Cannot happen: the spec names no node and no rail.
  candidates_ = found->ports;
  std::vector<v1::CoverageGap> left_out = found->skipped;
  std::vector<plan::Port> ports;
  for (const plan::Port& port : candidates_) {
    if (const std::string obstacle = Obstacle(port); !obstacle.empty())
      left_out.push_back(
          CoverageGapOf(port.port, v1::COVERAGE_GAP_REASON_NO_MESH_ENDPOINT, obstacle));
    else
      ports.push_back(port);
  }
  fabric_ = blame::FabricOf(view, sources_.sites);
  KeepCounts(plan::MakeMesh(std::move(ports), found->leaf_names, {.paths = settings_.paths}));
  places_.clear();
  for (std::size_t n = 0; n < candidates_.size(); ++n)
    places_[candidates_[n].port.node()].candidates.push_back(n);
  for (std::size_t n = 0; n < plan_.pairs.size(); ++n)
    places_[plan_.ports[plan_.pairs[n].ports.from].port.node()].pairs.push_back(n);
  for (const auto& [name, node] : nodes_) out_of_date_.insert(name);
  status_.set_ports(static_cast<std::uint32_t>(plan_.ports.size()));
  status_.mutable_not_covered()->Assign(left_out.begin(), left_out.end());
  fresh_ = true;
}

// Counts of another class say nothing about this one.
void Mesh::ChooseClass() {
  v1::TrafficClass chosen = sources_.classes.Of().front();
  if (chosen.traffic_class() != class_.traffic_class()) {
    counts_.assign(counts_.size(), {});
    arrived_.clear();
  }
  class_ = std::move(chosen);
  status_.clear_classes();
  *status_.add_classes() = class_;
}

// Pairs that are in the old and the new plan keep their counts.
void Mesh::KeepCounts(plan::MeshPlan plan) {
  std::vector<MeshCounts> counts(plan.pairs.size());
  std::map<Ends, std::size_t> pairs;
  flows_kept_ = 0;
  for (std::size_t n = 0; n < plan.pairs.size(); ++n) {
    const Ends ends(plan::PortName(plan.ports[plan.pairs[n].ports.from].port),
                    plan::PortName(plan.ports[plan.pairs[n].ports.to].port));
    const auto known = pairs_.find(ends);
    if (known != pairs_.end()) counts[n] = std::move(counts_[known->second]);
    flows_kept_ += counts[n].flows_kept();
    pairs.emplace(ends, n);
  }
  plan_ = std::move(plan);
  counts_ = std::move(counts);
  pairs_ = std::move(pairs);
}

v1::MeshAssignment Mesh::OrderOf(const std::string& node) const {
  v1::MeshAssignment order;
  std::uint32_t flows = 0;
  const auto places = places_.find(node);
  if (places == places_.end()) return order;
  std::map<std::string, v1::MeshPortAssignment*> ports;
  order.mutable_ports()->Reserve(static_cast<int>(places->second.candidates.size()));
  for (const std::size_t n : places->second.candidates) {
    v1::MeshPortAssignment& port = *order.add_ports();
    *port.mutable_local() = candidates_[n].port;
    ports.emplace(plan::PortName(candidates_[n].port), &port);
  }
  for (const std::size_t n : places->second.pairs) {
    const plan::MeshPair& pair = plan_.pairs[n];
    const v1::ProbePort& to = plan_.ports[pair.ports.to].port;
    const auto port = ports.find(plan::PortName(plan_.ports[pair.ports.from].port));
    const auto known = endpoints_.find(plan::PortName(to));
    if (port == ports.end() || known == endpoints_.end() || !known->second.known()) continue;
    v1::MeshTarget& target = *port->second->add_targets();
    *target.mutable_remote() = to;
    *target.mutable_endpoint() = known->second.endpoint;
    target.mutable_flow_labels()->Assign(pair.flow_labels.begin(), pair.flow_labels.end());
    flows += std::max(1u, static_cast<std::uint32_t>(pair.flow_labels.size()));
  }
  order.set_pings_per_second(std::min(settings_.pings_per_second, kFlowRateMax * flows));
  order.set_window_ms(kWindowMs);
  order.set_traffic_class(class_.traffic_class());
  SetQueuePair(class_, *order.mutable_queue_pair());
  if (order.queue_pair().ByteSizeLong() == 0) order.clear_queue_pair();
  order.set_answer_within_ms(kAnswerWithinMs);
  return order;
}

// Sends only orders that have changed.
void Mesh::SendOrders(Moment now) {
  if (planned_at_ > now.steady || candidates_.empty()) return;
  for (std::size_t sent = 0; sent < kOrdersAtOnce && !out_of_date_.empty(); ++sent) {
    const std::string name = *out_of_date_.begin();
    out_of_date_.erase(out_of_date_.begin());
    const auto node = nodes_.find(name);
    if (node == nodes_.end()) continue;
    v1::ControllerMessage message;
    v1::MeshAssignment& order = *message.mutable_mesh_assignment();
    order = OrderOf(name);
    std::string text = order.SerializeAsString();
    if (text == node->second.sent) continue;
    node->second.sent = std::move(text);
    order.set_number(next_number_++);
    agents_.Send(node->second.session, message);
  }
}

// A window counts if both ends were connected all the time and the endpoint was current: an agent
// that stops destroys its queue pairs, which is not a loss of the network.
bool Mesh::Counts(const Arrived& arrived, const Ends& ends) const {
  const auto from = endpoints_.find(ends.first);
  const auto to = endpoints_.find(ends.second);
  return from != endpoints_.end() && to != endpoints_.end() && from->second.known() &&
         to->second.known() && from->second.changed_at < arrived.began &&
         to->second.changed_at < arrived.began && arrived.window.assignment() >= to->second.since;
}

void Mesh::Count(const Arrived& arrived) {
  const auto node = nodes_.find(arrived.node);
  if (node == nodes_.end()) return;
  const double rate = arrived.window.pings_per_second();
  node->second.pings_per_second = std::isfinite(rate) ? std::clamp(rate, 0.0, kPingsMax) : 0;
  for (const v1::MeshPath& path : arrived.window.paths()) {
    if (path.from().node() != arrived.node || !Sound(path.ping())) continue;
    const Ends ends(plan::PortName(path.from()), plan::PortName(path.to()));
    const auto pair = pairs_.find(ends);
    if (pair == pairs_.end() || !Counts(arrived, ends)) continue;
    MeshCounts& counts = counts_[pair->second];
    const std::size_t kept = counts.flows_kept();
    counts.Add(path.ping(), flows_kept_ < kFlowsKeptMax);
    flows_kept_ += counts.flows_kept() - kept;
    fresh_ = true;
  }
  ++node->second.windows;
}

// Results for blame: pairs with loss, with each of their flows, and other pairs for comparison,
// both up to a maximum and spread over the fabric.
google::protobuf::RepeatedPtrField<v1::PairResult> Mesh::ResultsForBlame() const {
  std::size_t lossy = 0;
  std::size_t clean = 0;
  for (const MeshCounts& counts : counts_)
    (counts.lost() > 0 ? lossy : clean) +=
        counts.lost() > 0 ? std::max<std::size_t>(MeshCounts::kWindowsMax, counts.flows_kept()) : 1;
  google::protobuf::RepeatedPtrField<v1::PairResult> results;
  std::size_t seen[2] = {0, 0};
  for (std::size_t n = 0; n < counts_.size(); ++n) {
    const bool bad = counts_[n].lost() > 0;
    const std::size_t stride = (bad ? lossy : clean) / kMeshObservationsMax + 1;
    if (seen[bad ? 1 : 0]++ % stride != 0) continue;
    const plan::MeshPair& pair = plan_.pairs[n];
    const plan::MeshLeafPair& leaves = plan_.leaf_pairs[pair.leaf_pair];
    counts_[n].AddTo(plan_.ports[pair.ports.from].port, plan_.ports[pair.ports.to].port,
                     leaves.from_leaf != leaves.to_leaf, results);
  }
  return results;
}

void Mesh::Locate(const google::protobuf::RepeatedPtrField<v1::PairResult>& results, Moment now) {
  ProbeCoverage coverage(sources_.located.Pairs());
  for (const v1::PairResult& result : results) coverage.Take(result);
  const std::vector<std::string> ids =
      sources_.located.Take({.located_by = "mesh",
                             .show_command = "fabricctl mesh",
                             .traffic_class = class_.traffic_class(),
                             .report = status_.blame(),
                             .coverage = coverage,
                             .affected = AffectedBy(status_.blame(), fabric_)},
                            now);
  status_.mutable_findings()->Assign(ids.begin(), ids.end());
}

void Mesh::Judge(Moment now) {
  judged_at_ = now.steady;
  if (!std::exchange(fresh_, false)) return;
  const google::protobuf::RepeatedPtrField<v1::PairResult> results = ResultsForBlame();
  const std::vector<v1::Finding> findings = sources_.open_findings();
  *status_.mutable_blame() =
      blame::Judge(fabric_, blame::ObservationsOf(fabric_, results), findings);
  status_.mutable_blame()->clear_not_covered();  // The status has them, with reasons.
  NameClasses({class_}, {}, *status_.mutable_blame());
  Locate(results, now);

  leaf_pairs_ = SumsOf(plan_, counts_);
  numbers_ = NumbersOf(leaf_pairs_);
  double rate = 0;
  std::uint32_t windows = 0;
  for (const auto& [name, node] : nodes_) {
    rate += node.pings_per_second;
    windows += std::min(node.windows, static_cast<std::uint32_t>(MeshCounts::kWindowsMax));
  }
  status_.set_pings_per_second(rate);
  status_.set_windows(windows);
  *status_.mutable_updated_at() = ToProto(now.wall);
}

}  // namespace fabric::control
