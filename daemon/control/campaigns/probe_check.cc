#include "daemon/control/campaigns/probe_check.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/text.h"
#include "proto/fields.h"
#include "proto/names.h"
#include "proto/probe_kinds.h"
#include "proto/probe_presets.h"

namespace fabric::control {
namespace {

constexpr int kProbesMax = 16;
constexpr std::uint32_t kTrafficClassMax = 255;

bool ValidResult(std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value) && value >= 0; });
}

bool ValidResult(const v1::LatencySummary& latency) {
  return ValidResult({latency.min_us(), latency.median_us(), latency.mean_us(), latency.p99_us(),
                      latency.p999_us(), latency.p9999_us(), latency.max_us(),
                      latency.standard_deviation_us()}) &&
         std::all_of(latency.histogram().begin(), latency.histogram().end(),
                     [](const auto& bucket) { return std::isfinite(bucket.upper_us()); }) &&
         latency.median_us() > 0 && latency.samples() > 0;
}

bool ValidResult(const v1::BandwidthSummary& bandwidth) {
  return ValidResult(
             {bandwidth.mean_bps(), bandwidth.seconds(), bandwidth.messages_per_second()}) &&
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

bool ValidResult(const v1::PingSummary& ping) {
  const std::uint64_t reported = std::uint64_t{ping.answered()} + ping.lost() + ping.voided();
  const bool flows = std::all_of(ping.flows().begin(), ping.flows().end(), [](const auto& flow) {
    return flow.lost() <= flow.sent() &&
           std::uint64_t{flow.lost_out()} + flow.lost_in() <= flow.lost() &&
           std::isfinite(flow.median_us());
  });
  return ping.sent() > 0 && reported <= ping.sent() && flows &&
         SoundDelay(ping.network_round_trip()) && SoundDelay(ping.responder_delay()) &&
         SoundDelay(ping.initiator_delay());
}

// Steps of gpu_memory: those that worked have a bandwidth.
bool ValidResult(const v1::GpuMemoryStep& step) {
  return step.works() == step.has_bandwidth() && (!step.works() || ValidResult(step.bandwidth()));
}

// Whether both ends were to send: a setting of some kinds.
bool BothDirections(const v1::ProbeSpec& spec) {
  const auto* const settings = ProbeSettingsOf(spec);
  if (settings == nullptr) return false;
  const auto* const field = settings->GetDescriptor()->FindFieldByName("bidirectional");
  return field != nullptr && settings->GetReflection()->GetBool(*settings, field);
}

// What an "ok" result of the kind must have but does not; empty if nothing.
std::string_view Missing(const v1::ProbeSpec& spec, const v1::ProbeResult& result) {
  switch (MeasureOf(spec)) {
    case v1::MEASURE_LATENCY: return result.has_latency() ? "" : "no latency";
    case v1::MEASURE_BANDWIDTH:
      if (!result.has_bandwidth()) return "no bandwidth";
      return BothDirections(spec) && !result.has_reverse_bandwidth()
                 ? "no bandwidth of the other direction"
                 : "";
    case v1::MEASURE_PING: return result.ping().answered() == 0 ? "no answered ping" : "";
    case v1::MEASURE_PATH_MTU: return result.path_mtu_bytes() == 0 ? "no path MTU" : "";
    case v1::MEASURE_GPU_MEMORY:
      return std::none_of(result.gpu_memory().begin(), result.gpu_memory().end(),
                          [](const v1::GpuMemoryStep& step) { return step.works(); })
                 ? "no path to GPU memory"
                 : "";
    default: return {};
  }
}

// The problem with the values of an "ok" result; empty when they are valid.
std::string_view Unsound(const v1::ProbeSpec& spec, const v1::ProbeResult& result) {
  if (result.has_latency() && !ValidResult(result.latency())) return "an invalid latency";
  if (result.has_bandwidth() && !ValidResult(result.bandwidth())) return "an invalid bandwidth";
  if (result.has_reverse_bandwidth() && !ValidResult(result.reverse_bandwidth()))
    return "an invalid bandwidth of the other direction";
  if (result.has_ping() && !ValidResult(result.ping())) return "invalid pings";
  const auto& steps = result.gpu_memory();
  if (!std::all_of(steps.begin(), steps.end(),
                   [](const v1::GpuMemoryStep& step) { return ValidResult(step); }))
    return "invalid GPU memory results";
  return Missing(spec, result);
}

Status CheckMax(const google::protobuf::FieldDescriptor& field, double seen, double max) {
  if (seen <= max) return {};
  return {Code::kInvalidArgument,
          Format("{}: expected at most {:.0f}, saw {:.0f}", field.name(), max, seen)};
}

// Agents refuse what their hardware cannot do; these are the limits of the schema.
Status CheckSettings(const google::protobuf::Message& settings) {
  const auto& type = *settings.GetDescriptor();
  for (int n = 0; n < type.field_count(); ++n) {
    const auto& field = *type.field(n);
    const int size =
        field.is_repeated() ? settings.GetReflection()->FieldSize(settings, &field) : 0;
    const auto items_max = field.options().GetExtension(v1::items_max);
    if (items_max != 0) RETURN_IF_ERROR(CheckMax(field, size, items_max));
    const auto max = static_cast<double>(field.options().GetExtension(v1::max));
    if (max == 0) continue;
    if (!field.is_repeated())
      RETURN_IF_ERROR(CheckMax(field, ValueNumber(settings, field, -1), max));
    for (int i = 0; i < size; ++i)
      RETURN_IF_ERROR(CheckMax(field, ValueNumber(settings, field, i), max));
  }
  return {};
}

// What failed has no figures but those that say how far it came.
void ClearFigures(v1::ProbeResult& result) {
  result.clear_latency();
  result.clear_bandwidth();
  result.clear_reverse_bandwidth();
  if (result.has_ping() && !ValidResult(result.ping())) result.clear_ping();
  for (v1::GpuMemoryStep& step : *result.mutable_gpu_memory())
    if (!ValidResult(step)) step.clear_bandwidth();
}

// Kinds with the option `incast` and the pattern INCAST go together, and with nothing else.
Status CheckIncasts(v1::CampaignSpec& spec) {
  const auto incast =
      std::find_if(spec.probes().begin(), spec.probes().end(),
                   [](const v1::ProbeSpec& probe) { return ProbeOptionsOf(probe).incast(); });
  const bool any = incast != spec.probes().end();
  const bool alone = any && spec.probes_size() == 1;
  if (alone && spec.pattern() == v1::CAMPAIGN_PATTERN_UNSPECIFIED)
    spec.set_pattern(v1::CAMPAIGN_PATTERN_INCAST);
  const bool pattern = spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST;
  if (pattern && !alone)
    return {Code::kInvalidArgument, "pattern: INCAST needs exactly one probe, of kind incast"};
  if (any && !pattern)
    return {Code::kInvalidArgument,
            Format("pattern: a probe of kind {} needs the pattern INCAST", ProbeKindName(*incast))};
  if (pattern && spec.until_decided())
    return {Code::kInvalidArgument, "until_decided: not supported by the pattern INCAST"};
  return {};
}

// A probe of each kind that `wanted` selects.
template <class Wanted>
void AddProbes(Wanted wanted, v1::CampaignSpec& spec) {
  for (const ProbeArm* const arm : ProbeArms())
    if (wanted(OptionsOf(*arm))) SetProbeKind(*arm, *spec.add_probes());
}

}  // namespace

Status Complete(v1::CampaignSpec& spec) {
  RETURN_IF_ERROR(ApplyPreset(spec));
  if (spec.probes_size() > kProbesMax)
    return {Code::kInvalidArgument, Format("probes: expected at most {} for each pair, saw {}",
                                           kProbesMax, spec.probes_size())};
  if (spec.probes().empty() && spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    AddProbes([](const v1::ProbeKindOptions& kind) { return kind.incast(); }, spec);
  RETURN_IF_ERROR(CheckIncasts(spec));
  if (spec.probes().empty())
    AddProbes([](const v1::ProbeKindOptions& kind) { return kind.is_default(); }, spec);
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
    RETURN_IF_ERROR(CheckSettings(*ProbeSettingsOf(probe))
                        .In(Format("probes[{}].{}", n, ProbeKindName(probe))));
    if (probe.timeout_ms() == 0) probe.set_timeout_ms(kProbeTimeoutDefaultMs);
  }
  return {};
}

std::uint64_t MemoryOfEnd(const v1::ProbeSpec& spec) {
  if (MeasureOf(spec) == v1::MEASURE_GPU_MEMORY) return 0;
  const auto* const settings = ProbeSettingsOf(spec);
  if (settings == nullptr) return 0;
  const auto number = [&](const char* name) -> std::uint64_t {
    const auto* const field = settings->GetDescriptor()->FindFieldByName(name);
    if (field == nullptr || field->is_repeated()) return 1;
    return std::max(1u, settings->GetReflection()->GetUInt32(*settings, field));
  };
  return number("message_bytes") * number("queue_pairs");
}

v1::ProbeResult Checked(const v1::ProbeSpec& spec, v1::ProbeResult result, const std::string& node,
                        const std::string& partner) {
  if (result.blamed_node() != node && result.blamed_node() != partner) result.clear_blamed_node();
  const bool known =
      v1::ProbeStatus_IsValid(result.status()) && result.status() != v1::PROBE_STATUS_UNSPECIFIED;
  std::string wrong;
  if (!known) {
    wrong = Format("reported an unknown status: {}", static_cast<int>(result.status()));
  } else if (result.status() == v1::PROBE_STATUS_OK) {
    if (const auto what = Unsound(spec, result); !what.empty())
      wrong = Format("reported ok with {}", what);
  }
  if (!wrong.empty()) {
    result.set_status(v1::PROBE_STATUS_FAILED);
    result.set_reason(wrong);
    result.set_blamed_node(node);
  }
  if (result.has_counter_deltas()) {
    const v1::ProbePort port = result.counter_deltas().port();
    *result.mutable_counter_deltas() = CheckedDeltas(result.counter_deltas(), port);
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
    result.set_reason(Format("{}: {}", node, reason));  // Names the reporting node
  }
  return result;
}

v1::PortCounterDeltas CheckedDeltas(const v1::PortCounterDeltas& deltas,
                                    const v1::ProbePort& port) {
  constexpr int kCountersMax = 256;
  constexpr std::size_t kNameMax = 64;
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name.size() <= kNameMax &&
           std::all_of(name.begin(), name.end(), [](char letter) {
             return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
                    letter == '_' || letter == '#';
           });
  };
  v1::PortCounterDeltas checked;
  *checked.mutable_port() = port;
  for (const v1::CounterDelta& delta : deltas.counters())
    if (is_name(delta.name()) && delta.after() >= delta.before() &&
        checked.counters_size() < kCountersMax)
      *checked.add_counters() = delta;
  for (const std::string& name : deltas.missing())
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
