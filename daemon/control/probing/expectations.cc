#include "daemon/control/probing/expectations.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "proto/names.h"
#include "proto/ports.h"
#include "proto/probe_kinds.h"

namespace fabric::control {
namespace {

// Share of the payload rate that one queue pair reaches on a healthy path. Acceptance tests of
// operators ask for 90 to 96 % of the line rate with messages of 64 KiB.
constexpr double kBandwidthShare = 0.9;
// Above this rate, one queue pair is not enough on every adapter.
constexpr double kFastBps = 500e9;
constexpr double kFastShare = 0.8;
// Half a round trip of 8 bytes. Acceptance tests ask for 5 us between two nodes at 100 Gb/s and
// more.
constexpr double kLatencyUs = 5;
constexpr double kLatencyPerHopUs = 1;
constexpr double kLatencyRateMinBps = 90e9;
constexpr std::uint32_t kSmallBytes = 256;
constexpr std::uint32_t kLargeBytes = 65536;
constexpr std::uint32_t kIterationsMin = 100;

// Bytes of headers of each packet. RoCE v2 over IPv4: preamble, Ethernet, FCS and gap 38, IP 20,
// UDP 8, BTH 12, ICRC 4. InfiniBand: LRH 8, BTH 12, ICRC 4, VCRC 2.
constexpr double kRoceHeader = 82;
constexpr double kInfinibandHeader = 26;
constexpr double kMtuUnknown = 1024;

// InfiniBand names the signalling rate up to FDR. The lane rates of SDR, DDR and QDR use 8b/10b.
double DataRate(const v1::Port& port) {
  const auto rate = static_cast<double>(port.rate_bps());
  if (port.link_layer() != v1::LINK_LAYER_INFINIBAND || port.width() == 0) return rate;
  const double lane = rate / port.width();
  if (lane <= 10e9) return rate * 0.8;
  return lane < 15e9 ? rate * 64 / 66 : rate;
}

std::uint32_t BytesOf(const v1::ProbeSpec& spec, std::uint32_t fallback) {
  const auto* const settings = ProbeSettingsOf(spec);
  const auto* const field =
      settings == nullptr ? nullptr : settings->GetDescriptor()->FindFieldByName("message_bytes");
  const std::uint32_t bytes =
      field == nullptr ? 0 : settings->GetReflection()->GetUInt32(*settings, field);
  return bytes == 0 ? fallback : bytes;
}

std::uint32_t IterationsOf(const v1::ProbeSpec& spec) {
  const auto* const settings = ProbeSettingsOf(spec);
  const auto* const field =
      settings == nullptr ? nullptr : settings->GetDescriptor()->FindFieldByName("iterations");
  return field == nullptr ? 0 : settings->GetReflection()->GetUInt32(*settings, field);
}

bool IsSpeedKind(const v1::ProbeSpec& spec) {
  return MeasureOf(spec) == v1::MEASURE_BANDWIDTH && !ProbeOptionsOf(spec).incast();
}

bool IsLatencyKind(const v1::ProbeSpec& spec) {
  return MeasureOf(spec) == v1::MEASURE_LATENCY || MeasureOf(spec) == v1::MEASURE_PING;
}

}  // namespace

std::optional<double> SlowerBps(const v1::ProbeResult& result) {
  if (!result.has_bandwidth()) return {};
  const double there = result.bandwidth().mean_bps();
  if (!result.has_reverse_bandwidth()) return there;
  return std::min(there, result.reverse_bandwidth().mean_bps());
}

std::optional<double> HalfTripUs(const v1::PairResult& result) {
  const v1::ProbeResult& said = result.result();
  // Reads report a full round trip, and sends wake up the receiver: only writes are judged.
  if (said.has_latency() && said.latency().median_us() > 0 &&
      ProbeOptionsOf(result.probe()).is_default())
    return said.latency().median_us();
  if (!said.ping().hardware_timestamps() || !said.ping().has_network_round_trip()) return {};
  return said.ping().network_round_trip().median_us() / 2;
}

Expectations::PortLimits Expectations::LimitsOf(const fleet::PortView& port,
                                                const fleet::Sites& sites) {
  const v1::Expectations& expected = port.expected();
  const fleet::Site site = sites.Of(port);
  PortLimits limits{.rate_bps = DataRate(*port.port),
                    .roce = port.port->link_layer() != v1::LINK_LAYER_INFINIBAND,
                    .profile = port.expectation->profile,
                    .leaf = site.leaf,
                    .pod = site.pod,
                    .subnet = port.subnet ? ToString(*port.subnet) : std::string()};
  if (expected.has_bandwidth_min_percent())
    limits.bandwidth_min_percent = expected.bandwidth_min_percent();
  if (expected.has_latency_max_us()) limits.latency_max_us = expected.latency_max_us();
  if (expected.has_latency_per_hop_max_us())
    limits.latency_per_hop_max_us = expected.latency_per_hop_max_us();
  const v1::FunctionKind kind = port.device->function().kind();
  if (!port.device->parent_netdev().empty() || kind == v1::FUNCTION_KIND_SOFTWARE)
    limits.no_default = "no default limit for software RDMA";
  else if (kind == v1::FUNCTION_KIND_VIRTUAL || kind == v1::FUNCTION_KIND_SUBFUNCTION)
    limits.no_default = "no default limit for virtual functions";
  else if (limits.rate_bps == 0)
    limits.no_default = "the rate of the port is not known";
  return limits;
}

Expectations::Expectations(const fleet::FleetView& fleet, const fleet::Sites& sites) {
  for (const fleet::NodeView& node : fleet.nodes()) Add(node, sites);
}

void Expectations::Add(const fleet::NodeView& node, const fleet::Sites& sites) {
  for (const fleet::PortView& port : node.ports)
    if (port.fabric)
      ports_.emplace(Format("{}/{}/{}", node.node->name, port.device->name(), port.port->number()),
                     LimitsOf(port, sites));
}

void Expectations::SetBandwidth(const Ends& ends, const v1::PairResult& result,
                                v1::ProbeExpectation& expectation) {
  const auto seen = SlowerBps(result.result());
  const std::uint32_t iterations = IterationsOf(result.probe());
  const bool small = BytesOf(result.probe(), kLargeBytes) < kLargeBytes ||
                     (iterations > 0 && iterations < kIterationsMin);
  if (!seen || small) return;
  const PortLimits& slower =
      ends.first->rate_bps <= ends.second->rate_bps ? *ends.first : *ends.second;
  const PortLimits& other = &slower == ends.first ? *ends.second : *ends.first;
  const std::uint32_t mtu = result.result().path_mtu_bytes();
  const double payload = mtu == 0 ? kMtuUnknown : mtu;
  const double rate =
      slower.rate_bps * payload / (payload + (slower.roce ? kRoceHeader : kInfinibandHeader));
  const auto percent =
      slower.bandwidth_min_percent ? slower.bandwidth_min_percent : other.bandwidth_min_percent;
  if (!percent && !(slower.no_default + other.no_default).empty()) {
    expectation.set_basis(slower.no_default.empty() ? other.no_default : slower.no_default);
    return;
  }
  if (slower.rate_bps == 0) {
    expectation.set_basis("the rate of the port is not known");
    return;
  }
  const double share = percent                      ? *percent / 100.0
                       : slower.rate_bps > kFastBps ? kFastShare
                                                    : kBandwidthShare;
  expectation.set_bandwidth_min_bps(share * rate);
  expectation.set_basis(Format("{:.0f} % of the payload rate of {} ({})", 100 * share,
                               BitRate(slower.rate_bps),
                               percent ? "profile " + slower.profile : "default"));
  expectation.set_missed(*seen < share * rate);
}

void Expectations::SetLatency(const Ends& ends, const v1::PairResult& result,
                              v1::ProbeExpectation& expectation) {
  const auto seen = HalfTripUs(result);
  if (!seen || BytesOf(result.probe(), 8) > kSmallBytes) return;
  const auto& [from, to] = ends;
  const bool same_port = from == to;
  const bool same_leaf = !from->leaf.empty() && from->leaf == to->leaf;
  const bool same_pod = !from->pod.empty() && from->pod == to->pod && !from->leaf.empty();
  const int switches = same_leaf || same_port ? 1 : same_pod ? 3 : 5;
  const bool given = from->latency_max_us.has_value() || to->latency_max_us.has_value();
  if (!given && !(from->no_default + to->no_default).empty()) {
    expectation.set_basis(from->no_default.empty() ? to->no_default : from->no_default);
    return;
  }
  if (!given && std::min(from->rate_bps, to->rate_bps) < kLatencyRateMinBps) {
    expectation.set_basis("no default latency below 100 Gb/s");
    return;
  }
  const double base =
      given ? std::max(from->latency_max_us.value_or(0), to->latency_max_us.value_or(0))
            : kLatencyUs;
  const double per_hop = std::max(from->latency_per_hop_max_us.value_or(kLatencyPerHopUs),
                                  to->latency_per_hop_max_us.value_or(kLatencyPerHopUs));
  const double limit = base + (switches - 1) * per_hop;
  expectation.set_latency_max_us(limit);
  expectation.set_basis(
      Format("half a round trip over {}{} switch{} ({})", same_leaf || same_pod ? "" : "at most ",
             switches, switches == 1 ? "" : "es",
             given ? "profile " + (from->latency_max_us ? from : to)->profile : "default"));
  expectation.set_missed(*seen > limit);
}

v1::ProbeExpectation Expectations::Of(const v1::PairResult& result) const {
  v1::ProbeExpectation expectation;
  if (result.result().status() != v1::PROBE_STATUS_OK) return expectation;
  const auto from = ports_.find(PortName(result.from()));
  const auto to = ports_.find(PortName(result.to()));
  if (from == ports_.end() || to == ports_.end()) return expectation;
  const Ends ends(&from->second, &to->second);
  if (IsSpeedKind(result.probe())) SetBandwidth(ends, result, expectation);
  if (IsLatencyKind(result.probe())) SetLatency(ends, result, expectation);
  return expectation;
}

std::string Expectations::LeafOf(const v1::ProbePort& port) const {
  const auto at = ports_.find(PortName(port));
  return at == ports_.end() ? std::string() : at->second.leaf;
}

std::string Expectations::SubnetOf(const v1::ProbePort& port) const {
  const auto at = ports_.find(PortName(port));
  return at == ports_.end() ? std::string() : at->second.subnet;
}

}  // namespace fabric::control
