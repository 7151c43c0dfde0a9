#include "tests/sim/clos.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "tests/testing/nodes.h"

namespace fabric::sim {
namespace {

constexpr std::uint32_t kLabels = 4;
constexpr std::uint32_t kPingsPerLabel = 250;
constexpr double kRoundTripUs = 5;
constexpr double kRateBps = 380e9;
// What a lost packet costs an RC queue pair that goes back to it.
constexpr double kPacketsResent = 300;

google::protobuf::Timestamp ToProto(double time_s) {
  google::protobuf::Timestamp time;
  time.set_seconds(static_cast<std::int64_t>(time_s));
  time.set_nanos(static_cast<std::int32_t>((time_s - std::floor(time_s)) * 1e9));
  return time;
}

Port PortOfProbe(const v1::ProbePort& port) {
  return {static_cast<std::uint32_t>(std::stoul(port.node().substr(1))) - 1, port.rail()};
}

}  // namespace

std::uint32_t Clos::leaves() const {
  return shape_.rails * ((shape_.nodes + shape_.ports_per_leaf - 1) / shape_.ports_per_leaf);
}

Port Clos::PluggedAs(const Port& port) const {
  Port plugged = port;
  for (const auto& [a, b] : swapped_) {
    if (port == a) plugged = b;
    if (port == b) plugged = a;
  }
  return plugged;
}

std::uint32_t Clos::LeafOf(const Port& port) const {
  const Port plugged = PluggedAs(port);
  const std::uint32_t per_rail = leaves() / shape_.rails;
  return plugged.rail * per_rail + plugged.node / shape_.ports_per_leaf;
}

std::string Clos::LeafName(std::uint32_t leaf) const {
  const std::uint32_t per_rail = leaves() / shape_.rails;
  return Format("leaf-{}-{}", leaf / per_rail, leaf % per_rail);
}

v1::NodeSnapshot Clos::Snapshot(std::uint32_t node) const {
  v1::NodeSnapshot snapshot = testing::RoceNode({.number = node + 1, .rails = shape_.rails});
  for (std::uint32_t rail = 0; shape_.lldp && rail < shape_.rails; ++rail) {
    v1::LldpNeighbor& neighbor = *snapshot.add_lldp_neighbors();
    neighbor.set_netdev(Format("rail{}", rail));
    const std::uint32_t leaf = LeafOf({node, rail});
    neighbor.set_chassis_id(Format("00:00:5e:00:{:02x}:{:02x}", leaf / 256, leaf % 256));
    neighbor.set_system_name(LeafName(leaf));
    const std::uint32_t socket = PluggedAs({node, rail}).node;
    neighbor.set_port_id(Format("swp{}", socket % shape_.ports_per_leaf + 1));
  }
  return snapshot;
}

bool Clos::Stalls(std::uint32_t node, std::uint32_t round) const {
  if (noise.pause_group > 0) {
    const std::uint64_t group = node / noise.pause_group;
    if (Random(hash_ ^ SplitMix((group << 32) + round) ^ 78).Chance(noise.pause / 4)) return true;
  }
  return Random(hash_ ^ SplitMix((std::uint64_t{node} << 32) + round) ^ 77).Chance(noise.stall);
}

double Clos::LoadOf(const Port& from, const Port& to, std::uint32_t round) const {
  if (noise.host_load == 0) return 1;
  double load = 0;
  for (const std::uint32_t node : {from.node, to.node})
    load += std::abs(Random(hash_ ^ SplitMix((std::uint64_t{node} << 32) + round) ^ 79).Normal());
  return std::exp(noise.host_load * load);
}

bool Clos::Freeze(const Port& from, const Port& to, bool ping, v1::ProbeResult& result) {
  for (const Fault& fault : faults_) {
    if (fault.frozen == 0 || (fault.port.node != from.node && fault.port.node != to.node)) continue;
    if (!random_.Chance(fault.frozen)) continue;
    // Before the probe began, its agent did not answer; later, its queue pair broke.
    if (!ping && random_.Chance(0.3)) {
      result.set_status(v1::PROBE_STATUS_FAILED);
      result.set_reason("transport retry counter exceeded");
      return true;
    }
    result.set_status(v1::PROBE_STATUS_TIMED_OUT);
    result.set_blamed_node(Format("n{}", fault.port.node + 1));
    return true;
  }
  return false;
}

bool Clos::Delay(const Port& from, const Port& to, std::uint32_t round, v1::ProbeResult& result) {
  if (noise.controller_late == 0 || round % 3 != 0) return false;
  if (!random_.Chance(noise.controller_late)) return false;
  result.set_status(v1::PROBE_STATUS_TIMED_OUT);
  const std::uint32_t node = random_.Chance(0.5) ? from.node : to.node;
  result.set_blamed_node(Format("n{}", node + 1));
  return true;
}

// Does traffic of this flow, this way, suffer from the fault?
bool Clos::Hits(const Fault& fault, const Port& from, const Port& to, std::uint32_t label) const {
  const auto either = [&](bool leaves, bool enters) {
    return (leaves && fault.out) || (enters && fault.in);
  };
  const std::uint32_t from_leaf = LeafOf(from);
  const std::uint32_t to_leaf = LeafOf(to);
  const auto spine = [&] {
    const std::uint64_t ends =
        (std::uint64_t{from.node * 64 + from.rail} << 32) + to.node * 64 + to.rail;
    return SplitMix(hash_ ^ SplitMix(ends) ^ SplitMix(label * 7919U)) % shape_.spines;
  };
  const bool across = from_leaf != to_leaf;
  switch (fault.where) {
    case Where::kPort: return either(from == fault.port, to == fault.port);
    case Where::kHost: return either(from.node == fault.port.node, to.node == fault.port.node);
    case Where::kLeaf: return from_leaf == fault.leaf || to_leaf == fault.leaf;
    case Where::kUplink:
      return across && either(from_leaf == fault.leaf, to_leaf == fault.leaf) &&
             spine() == fault.spine;
    case Where::kSpine: return across && spine() == fault.spine;
    case Where::kLeafPair:
      return (from_leaf == fault.leaf && to_leaf == fault.other_leaf) ||
             (to_leaf == fault.leaf && from_leaf == fault.other_leaf);
    case Where::kRail: return from.rail == fault.port.rail || to.rail == fault.port.rail;
    case Where::kPair:
      return either(from == fault.port && to == fault.other,
                    to == fault.port && from == fault.other);
    case Where::kFabric: return true;
  }
  return false;
}

Clos::Way Clos::WayOf(const Port& from, const Port& to, const Traffic& traffic) const {
  const auto& [label, round, large] = traffic;
  Way way{.loss = noise.loss};
  for (const Fault& fault : faults_) {
    if (round % fault.period >= fault.present || !Hits(fault, from, to, label)) continue;
    if (fault.share < 1) {
      const auto ends =
          std::uint64_t{std::min(from.node, to.node)} * 65536 + std::max(from.node, to.node);
      const std::uint64_t hash = SplitMix(hash_ ^ SplitMix(ends) ^ SplitMix(label * 131U));
      if (static_cast<double>(hash % 1000) >= 1000 * fault.share) continue;
    }
    if (fault.traffic_class.value_or(traffic_class_) != traffic_class_) continue;
    const double loss = large ? fault.loss : fault.loss * fault.small_loss;
    way.loss = 1 - (1 - way.loss) * (1 - loss);
    way.speed = std::min(way.speed, fault.speed);
    way.latency += fault.latency - 1;
  }
  return way;
}

std::optional<std::uint32_t> Clos::Lost(const Port& from, const Port& to) const {
  for (const Fault& fault : faults_)
    if (fault.agent_lost && (fault.port.node == from.node || fault.port.node == to.node))
      return fault.port.node;
  return std::nullopt;
}

// A flow is late, and one of three late ones loses packets.
void Clos::SlowFlow(v1::FlowSummary& flow) {
  if (!random_.Chance(noise.slow_flows)) return;
  if (flow.has_median_us()) flow.set_median_us(flow.median_us() * random_.LogBetween(2, 10));
  if (!tells_ways && random_.Chance(0.33))
    flow.set_lost(std::max(flow.lost(), random_.Binomial(kPingsPerLabel, 0.05)));
}

v1::ProbeResult Clos::Ping(const Port& from, const Port& to, std::uint32_t round) {
  v1::ProbeResult result;
  result.set_status(v1::PROBE_STATUS_OK);
  v1::PingSummary& ping = *result.mutable_ping();
  const bool stalls = Stalls(from.node, round) || Stalls(to.node, round);
  const double stall = stalls ? random_.LogBetween(2, 20) : 1;
  const double stall_loss = stalls ? random_.LogBetween(1e-3, 0.3) : 0;
  const auto burst =
      static_cast<std::uint32_t>(random_.Chance(noise.burst) ? 1 + random_.Below(30) : 0);
  const double load = LoadOf(from, to, round);
  double sum = 0;
  for (std::uint32_t label = 1; label <= kLabels; ++label) {
    const Way there = WayOf(from, to, {label, round});
    const Way back = WayOf(to, from, {label, round});
    v1::FlowSummary& flow = *ping.add_flows();
    flow.set_flow_label(label);
    flow.set_sent(kPingsPerLabel);
    const double loss_there = 1 - (1 - there.loss) * (1 - stall_loss);
    std::uint32_t lost = 0;
    if (tells_ways) {
      lost = random_.Binomial(kPingsPerLabel, loss_there);
      lost = std::min(kPingsPerLabel, lost + burst / kLabels);
      flow.set_lost_out(lost);
      flow.set_lost_in(random_.Binomial(kPingsPerLabel - lost, back.loss));
      lost += flow.lost_in();
    } else {
      lost = random_.Binomial(kPingsPerLabel, 1 - (1 - loss_there) * (1 - back.loss));
      lost = std::min(kPingsPerLabel, lost + burst / kLabels);
    }
    flow.set_lost(lost);
    const double jitter = std::exp(noise.latency_jitter * random_.Normal());
    const double median = kRoundTripUs * jitter * stall * load * (there.latency + back.latency) / 2;
    if (lost < kPingsPerLabel) flow.set_median_us(median);
    if (IsSlow()) SlowFlow(flow);
    sum += flow.has_median_us() ? flow.median_us() : median;
    ping.set_sent(ping.sent() + kPingsPerLabel);
    ping.set_lost(ping.lost() + flow.lost());
  }
  ping.set_answered(ping.sent() - ping.lost());
  if (ping.answered() > 0) ping.mutable_network_round_trip()->set_median_us(sum / kLabels);
  return result;
}

v1::FlowSummary Clos::Flow(const v1::ProbePort& from, const v1::ProbePort& to, std::uint32_t label,
                           std::uint32_t count, std::uint32_t round) {
  const Way there = WayOf(PortOfProbe(from), PortOfProbe(to), {label, round});
  const Way back = WayOf(PortOfProbe(to), PortOfProbe(from), {label, round});
  v1::FlowSummary flow;
  flow.set_flow_label(label);
  flow.set_sent(count);
  flow.set_lost_out(random_.Binomial(count, there.loss));
  flow.set_lost_in(random_.Binomial(count - flow.lost_out(), back.loss));
  flow.set_lost(flow.lost_out() + flow.lost_in());
  const double jitter = std::exp(noise.latency_jitter * random_.Normal());
  if (flow.lost() < count)
    flow.set_median_us(kRoundTripUs * jitter * (there.latency + back.latency) / 2);
  return flow;
}

v1::ProbeResult Clos::Bandwidth(const Port& from, const Port& to, std::uint32_t round) {
  const auto label = static_cast<std::uint32_t>(1000 + random_.Below(1U << 20));
  const Way there = WayOf(from, to, {label, round, true});
  const Way back = WayOf(to, from, {label, round, true});
  v1::ProbeResult result;
  const bool dead = there.loss > 0.5 || back.loss > 0.5;
  if (dead || random_.Chance(noise.odd_failure)) {
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason("transport retry counter exceeded");
    return result;
  }
  const bool stalls = Stalls(from.node, round) || Stalls(to.node, round);
  double stall = (stalls ? random_.Between(0.3, 0.95) : 1) / LoadOf(from, to, round);
  if (noise.collision > 0 && LeafOf(from) != LeafOf(to) && random_.Chance(noise.collision))
    stall /= static_cast<double>(2 + random_.Below(2));
  if (IsSlow() && random_.Chance(noise.slow_flows)) stall /= random_.Between(1.5, 4);
  if (noise.scatter > 0) stall *= std::exp(noise.scatter * random_.Normal());
  const auto speed = [&](const Way& way) {
    const double jitter = 1 - std::abs(noise.speed_jitter * random_.Normal());
    return kRateBps * jitter * stall * way.speed / (1 + kPacketsResent * way.loss);
  };
  result.set_status(v1::PROBE_STATUS_OK);
  result.mutable_bandwidth()->set_mean_bps(speed(there));
  result.mutable_reverse_bandwidth()->set_mean_bps(speed(back));
  return result;
}

void Clos::Probe(const v1::ProbePort& from, const v1::ProbePort& to, std::uint32_t round,
                 google::protobuf::RepeatedPtrField<v1::PairResult>& out) {
  const Port a = PortOfProbe(from);
  const Port b = PortOfProbe(to);
  const auto lost = Lost(a, b);
  for (const bool ping : {true, false}) {
    v1::PairResult& result = *out.Add();
    result.set_round(round);
    *result.mutable_started_at() = ToProto(now_s_);
    *result.mutable_from() = from;
    *result.mutable_to() = to;
    if (ping)
      result.mutable_probe()->mutable_ud_ping()->set_pings(kLabels * kPingsPerLabel);
    else
      result.mutable_probe()->mutable_rc_write_bandwidth()->set_bidirectional(true);
    if (lost) {
      result.mutable_result()->set_status(v1::PROBE_STATUS_UNREACHABLE);
      result.mutable_result()->set_blamed_node(Format("n{}", *lost + 1));
    } else if (!Freeze(a, b, ping, *result.mutable_result()) &&
               !Delay(a, b, round, *result.mutable_result())) {
      *result.mutable_result() = ping ? Ping(a, b, round) : Bandwidth(a, b, round);
    }
  }
}

}  // namespace fabric::sim
