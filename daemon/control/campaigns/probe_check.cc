#include "daemon/control/campaigns/probe_check.h"

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
                latency.p999_us(), latency.p9999_us(), latency.max_us(),
                latency.standard_deviation_us()}) &&
         std::all_of(latency.histogram().begin(), latency.histogram().end(),
                     [](const auto& bucket) { return std::isfinite(bucket.upper_us()); }) &&
         latency.median_us() > 0 && latency.samples() > 0;
}

bool Sound(const v1::BandwidthSummary& bandwidth) {
  return Sound({bandwidth.mean_bps(), bandwidth.seconds(), bandwidth.messages_per_second()}) &&
         bandwidth.mean_bps() > 0;
}

// Differences of clocks may come out below 0 by their resolution, and are 0 when nothing was
// answered.
bool SoundDelay(const v1::LatencySummary& delay) {
  const auto finite = {delay.min_us(), delay.median_us(), delay.mean_us(),
                       delay.p99_us(), delay.p999_us(),   delay.max_us()};
  return std::all_of(finite.begin(), finite.end(),
                     [](double value) { return std::isfinite(value); });
}

bool Sound(const v1::PingSummary& ping) {
  const std::uint64_t told = std::uint64_t{ping.answered()} + ping.lost() + ping.voided();
  const bool flows = std::all_of(ping.flows().begin(), ping.flows().end(), [](const auto& flow) {
    return flow.lost() <= flow.sent() && std::isfinite(flow.median_us());
  });
  return ping.sent() > 0 && told <= ping.sent() && flows && SoundDelay(ping.network_round_trip()) &&
         SoundDelay(ping.responder_delay()) && SoundDelay(ping.initiator_delay());
}

// Steps of gpu_memory: those that worked have a bandwidth.
bool Sound(const v1::GpuMemoryStep& step) {
  return step.works() == step.has_bandwidth() && (!step.works() || Sound(step.bandwidth()));
}

bool MeasuresLatency(const v1::ProbeSpec& spec) {
  return spec.has_rc_write_latency() || spec.has_rc_read_latency() || spec.has_rc_send_latency();
}

// Whether both ends were to send.
bool BothDirections(const v1::ProbeSpec& spec) {
  return spec.rc_write_bandwidth().bidirectional() || spec.rc_read_bandwidth().bidirectional() ||
         spec.rc_send_bandwidth().bidirectional();
}

bool MeasuresBandwidth(const v1::ProbeSpec& spec) {
  return spec.has_incast() || spec.has_rc_write_bandwidth() || spec.has_rc_read_bandwidth() ||
         spec.has_rc_send_bandwidth();
}

// The problem with the values of an "ok" result; empty when they are valid.
std::string_view Unsound(const v1::ProbeSpec& spec, const v1::ProbeResult& result) {
  if (result.has_latency() && !Sound(result.latency())) return "an invalid latency";
  if (result.has_bandwidth() && !Sound(result.bandwidth())) return "an invalid bandwidth";
  if (result.has_reverse_bandwidth() && !Sound(result.reverse_bandwidth()))
    return "an invalid bandwidth of the other direction";
  if (result.has_ping() && !Sound(result.ping())) return "invalid pings";
  if (MeasuresLatency(spec) && !result.has_latency()) return "no latency";
  if (MeasuresBandwidth(spec) && !result.has_bandwidth()) return "no bandwidth";
  if (BothDirections(spec) && !result.has_reverse_bandwidth())
    return "no bandwidth of the other direction";
  if (spec.has_ud_ping() && result.ping().answered() == 0) return "no answered ping";
  const auto& steps = result.gpu_memory();
  if (!std::all_of(steps.begin(), steps.end(),
                   [](const v1::GpuMemoryStep& step) { return Sound(step); }))
    return "invalid GPU memory results";
  if (spec.has_gpu_memory() &&
      std::none_of(steps.begin(), steps.end(),
                   [](const v1::GpuMemoryStep& step) { return step.works(); }))
    return "no path to GPU memory";
  if (spec.has_path_mtu() && result.path_mtu_bytes() == 0) return "no path MTU";
  return {};
}

// Agents refuse what their hardware cannot do; here is what nothing could.
Status CheckKind(const v1::ProbeSpec& probe) {
  constexpr std::uint32_t kMessageBytesMax = 1u << 30;
  constexpr std::uint32_t kPingsMax = 10'000'000;
  constexpr std::uint32_t kFlowLabelMax = 0xfffff;
  constexpr int kFlowLabelsMax = 1024;
  const auto* const field =
      v1::ProbeSpec::descriptor()->FindFieldByNumber(static_cast<int>(probe.kind_case()));
  const auto& kind = probe.GetReflection()->GetMessage(probe, field);
  const auto* const bytes = kind.GetDescriptor()->FindFieldByName("message_bytes");
  if (bytes != nullptr && kind.GetReflection()->GetUInt32(kind, bytes) > kMessageBytesMax)
    return {Code::kInvalidArgument,
            Format("message_bytes: expected at most {}, saw {}", kMessageBytesMax,
                   kind.GetReflection()->GetUInt32(kind, bytes))};
  const v1::UdPing& ping = probe.ud_ping();
  if (ping.pings() > kPingsMax)
    return {Code::kInvalidArgument,
            Format("pings: expected at most {}, saw {}", kPingsMax, ping.pings())};
  if (ping.flow_labels_size() > kFlowLabelsMax)
    return {Code::kInvalidArgument, Format("flow_labels: expected at most {}, saw {}",
                                           kFlowLabelsMax, ping.flow_labels_size())};
  for (const std::uint32_t label : ping.flow_labels())
    if (label > kFlowLabelMax)
      return {Code::kInvalidArgument,
              Format("flow_labels: expected at most {}, saw {}", kFlowLabelMax, label)};
  return {};
}

// What failed has no figures but those that say how far it came.
void ClearFigures(v1::ProbeResult& result) {
  result.clear_latency();
  result.clear_bandwidth();
  result.clear_reverse_bandwidth();
  if (result.has_ping() && !Sound(result.ping())) result.clear_ping();
  for (v1::GpuMemoryStep& step : *result.mutable_gpu_memory())
    if (!Sound(step)) step.clear_bandwidth();
}

// The kind incast and the pattern INCAST go together, and with nothing else.
Status CheckIncasts(v1::CampaignSpec& spec) {
  const bool any = std::any_of(spec.probes().begin(), spec.probes().end(),
                               [](const v1::ProbeSpec& probe) { return probe.has_incast(); });
  const bool alone = any && spec.probes_size() == 1;
  if (alone && spec.pattern() == v1::CAMPAIGN_PATTERN_UNSPECIFIED)
    spec.set_pattern(v1::CAMPAIGN_PATTERN_INCAST);
  const bool pattern = spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST;
  if (pattern && !alone)
    return {Code::kInvalidArgument, "pattern: INCAST needs exactly one probe, of kind incast"};
  if (any && !pattern)
    return {Code::kInvalidArgument, "pattern: a probe of kind incast needs the pattern INCAST"};
  if (pattern && spec.until_decided())
    return {Code::kInvalidArgument, "until_decided: not supported by the pattern INCAST"};
  return {};
}

}  // namespace

Status Complete(v1::CampaignSpec& spec) {
  if (spec.probes_size() > kProbesMax)
    return {Code::kInvalidArgument, Format("probes: expected at most {} for each pair, saw {}",
                                           kProbesMax, spec.probes_size())};
  if (spec.probes().empty() && spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    spec.add_probes()->mutable_incast();
  RETURN_IF_ERROR(CheckIncasts(spec));
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
    RETURN_IF_ERROR(CheckKind(probe).In(Format("probes[{}].{}", n, ProbeKindName(probe))));
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
    wrong = Format("{}: reported an unknown status: {}", node, static_cast<int>(result.status()));
  } else if (result.status() == v1::PROBE_STATUS_OK) {
    if (const auto what = Unsound(spec, result); !what.empty())
      wrong = Format("{}: reported ok with {}", node, what);
  }
  if (!wrong.empty()) {
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason(wrong);
    result.set_blamed_node(node);
  }
  if (result.has_moves()) {
    const v1::ProbePort port = result.moves().port();
    *result.mutable_moves() = CheckedMoves(result.moves(), port);
  }
  constexpr int kGpuStepsMax = 64;
  if (result.gpu_memory_size() > kGpuStepsMax)
    result.mutable_gpu_memory()->DeleteSubrange(kGpuStepsMax,
                                                result.gpu_memory_size() - kGpuStepsMax);
  for (v1::GpuMemoryStep& step : *result.mutable_gpu_memory()) {
    step.set_gpu(OneLine(step.gpu()));
    step.set_remote_gpu(OneLine(step.remote_gpu()));
    step.set_reason(OneLine(step.reason()));
  }
  for (v1::MtuStep& step : *result.mutable_mtu_steps()) step.set_reason(OneLine(step.reason()));
  if (result.status() == v1::PROBE_STATUS_OK) {
    result.clear_reason();
    result.clear_blamed_node();
  } else {
    ClearFigures(result);
    std::string reason = OneLine(result.reason());
    if (reason.empty()) reason = Format("{}, without a reason", Name(result.status()));
    // The reason names the reporting node.
    if (!reason.starts_with(node)) reason = Format("{}: {}", node, reason);
    result.set_reason(reason);
  }
  return result;
}

v1::PortMoves CheckedMoves(const v1::PortMoves& moves, const v1::ProbePort& port) {
  constexpr int kCountersMax = 256;
  constexpr std::size_t kNameMax = 64;
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name.size() <= kNameMax &&
           std::all_of(name.begin(), name.end(), [](char letter) {
             return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                    letter == '_' || letter == '#';
           });
  };
  v1::PortMoves checked;
  *checked.mutable_port() = port;
  for (const v1::CounterMove& move : moves.counters())
    if (is_name(move.name()) && move.after() >= move.before() &&
        checked.counters_size() < kCountersMax)
      *checked.add_counters() = move;
  for (const std::string& name : moves.missing())
    if (is_name(name) && checked.missing_size() < kCountersMax) checked.add_missing(name);
  return checked;
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
