#include "daemon/control/probe_check.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/text.h"
#include "proto/names.h"

namespace fabric::control {
namespace {

constexpr int kProbesMax = 16;
constexpr std::uint32_t kTrafficClassMax = 255;

bool Sound(std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value) && value >= 0; });
}

bool Sound(const v1::LatencySummary& latency) {
  return Sound({latency.min_us(), latency.median_us(), latency.mean_us(), latency.p99_us(),
                latency.p999_us(), latency.max_us(), latency.standard_deviation_us()}) &&
         latency.median_us() > 0 && latency.samples() > 0;
}

bool Sound(const v1::BandwidthSummary& bandwidth) {
  return Sound({bandwidth.mean_bps(), bandwidth.seconds(), bandwidth.messages_per_second()}) &&
         bandwidth.mean_bps() > 0;
}

bool Sound(const v1::PingSummary& ping) {
  for (const auto* latency :
       {&ping.network_round_trip(), &ping.responder_delay(), &ping.initiator_delay()})
    if (!Sound({latency->min_us(), latency->median_us(), latency->mean_us(), latency->p99_us(),
                latency->p999_us(), latency->max_us(), latency->standard_deviation_us()}))
      return false;
  return std::uint64_t{ping.answered()} + ping.lost() + ping.voided() <= ping.sent();
}

// What a result of `spec` has when it is ok.
struct Measured {
  bool latency = false;
  bool bandwidth = false;
  bool reverse = false;
};

Measured MeasuredBy(const v1::ProbeSpec& spec) {
  return {.latency = spec.has_rc_write_latency() || spec.has_rc_read_latency() ||
                     spec.has_rc_send_latency(),
          .bandwidth = spec.has_rc_write_bandwidth() || spec.has_rc_read_bandwidth() ||
                       spec.has_rc_send_bandwidth(),
          .reverse = spec.rc_write_bandwidth().bidirectional() ||
                     spec.rc_read_bandwidth().bidirectional() ||
                     spec.rc_send_bandwidth().bidirectional()};
}

// What is wrong with the figures of a result that says ok; empty when nothing is.
std::string_view Unsound(const v1::ProbeSpec& spec, const v1::ProbeResult& result) {
  if (result.has_latency() && !Sound(result.latency())) return "a latency that cannot be";
  if (result.has_bandwidth() && !Sound(result.bandwidth())) return "a bandwidth that cannot be";
  if (result.has_reverse_bandwidth() && !Sound(result.reverse_bandwidth()))
    return "a bandwidth that cannot be";
  if (result.has_ping() && !Sound(result.ping())) return "pings that cannot be";
  const Measured wanted = MeasuredBy(spec);
  if (wanted.latency && !result.has_latency()) return "no latency";
  if (wanted.bandwidth && !result.has_bandwidth()) return "no bandwidth";
  if (wanted.reverse && !result.has_reverse_bandwidth())
    return "no bandwidth of the other direction";
  if (spec.has_ud_ping() && result.ping().answered() == 0) return "no ping that was answered";
  if (spec.has_path_mtu() && result.path_mtu_bytes() == 0) return "no path MTU";
  return {};
}

}  // namespace

Status Complete(v1::CampaignSpec& spec) {
  if (spec.probes_size() > kProbesMax)
    return {Code::kInvalidArgument, Format("probes: expected at most {} for each pair, saw {}",
                                           kProbesMax, spec.probes_size())};
  if (spec.probes().empty()) {
    spec.add_probes()->mutable_rc_write_latency();
    spec.add_probes()->mutable_rc_write_bandwidth();
  }
  for (int n = 0; n < spec.probes_size(); ++n) {
    v1::ProbeSpec& probe = *spec.mutable_probes(n);
    if (ProbeKindName(probe).empty())
      return {Code::kInvalidArgument,
              Format("probes[{}]: expected a kind, such as rc_write_latency, saw none", n)};
    if (probe.timeout_ms() > kProbeTimeoutMaxMs)
      return {Code::kInvalidArgument, Format("probes[{}].timeout_ms: expected at most {}, saw {}",
                                             n, kProbeTimeoutMaxMs, probe.timeout_ms())};
    if (probe.traffic_class() > kTrafficClassMax)
      return {Code::kInvalidArgument, Format("probes[{}].traffic_class: expected 0 to {}, saw {}",
                                             n, kTrafficClassMax, probe.traffic_class())};
    if (probe.timeout_ms() == 0) probe.set_timeout_ms(kProbeTimeoutDefaultMs);
  }
  return {};
}

v1::ProbeResult Checked(const v1::ProbeSpec& spec, v1::ProbeResult result, const std::string& node,
                        const std::string& partner) {
  if (result.blamed_node() != node && result.blamed_node() != partner) result.clear_blamed_node();
  const bool known =
      v1::ProbeStatus_IsValid(result.status()) && result.status() != v1::PROBE_STATUS_UNSPECIFIED;
  std::string wrong;
  if (!known) {
    wrong = Format("{}: reported a status that is not known: {}", node,
                   static_cast<int>(result.status()));
  } else if (result.status() == v1::PROBE_STATUS_OK) {
    if (const auto what = Unsound(spec, result); !what.empty())
      wrong = Format("{}: reported ok with {}", node, what);
  }
  if (!wrong.empty()) {
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason(wrong);
    result.set_blamed_node(node);
  }
  for (v1::MtuStep& step : *result.mutable_mtu_steps()) step.set_reason(OneLine(step.reason()));
  if (result.status() == v1::PROBE_STATUS_OK) {
    result.clear_reason();
    result.clear_blamed_node();
  } else {
    result.clear_latency();
    result.clear_bandwidth();
    result.clear_reverse_bandwidth();
    if (result.has_ping() && !Sound(result.ping())) result.clear_ping();
    std::string reason = OneLine(result.reason());
    if (reason.empty()) reason = Format("{}, without a reason", Name(result.status()));
    // People must see who says so.
    if (!reason.starts_with(node)) reason = Format("{}: {}", node, reason);
    result.set_reason(reason);
  }
  return result;
}

std::string OneLine(const std::string& text) {
  std::string line = text.substr(0, kReasonBytesMax);
  if (text.size() > kReasonBytesMax) {
    // Cut between characters: go back over the continuation bytes and the lead byte of UTF-8.
    std::size_t end = line.size();
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    line.resize(end);
  }
  std::replace_if(
      line.begin(), line.end(), [](unsigned char letter) { return letter < 0x20; }, ' ');
  return std::string(Trim(line));
}

}  // namespace fabric::control
