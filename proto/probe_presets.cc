#include "proto/probe_presets.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::uint32_t kSmall = 8;
constexpr std::uint32_t kMedium = 4096;
constexpr std::uint32_t kLarge = 65536;
constexpr std::uint32_t kHuge = 1 << 20;
constexpr std::uint32_t kFlowLabels = 8;

constexpr ProbePreset kPresets[] = {
    {v1::CAMPAIGN_PRESET_QUICK, "quick",
     "each port with 3 others; 200 RC writes of 8 bytes (latency) and 200 of 64 KiB (bandwidth); "
     "ends when decided"},
    {v1::CAMPAIGN_PRESET_STANDARD, "standard",
     "each port with 8 others; 1000 RC writes of 8 bytes, 1000 of 64 KiB in both directions at the "
     "same time, 200 pings over 8 flow labels"},
    {v1::CAMPAIGN_PRESET_THOROUGH, "thorough",
     "all pairs of each rail; 5000 RC writes of 8 bytes and 1000 of 4 KiB (latency), 2000 of "
     "64 KiB and 500 of 1 MiB in both directions, 1000 RC reads of 64 KiB, 1000 pings over 8 flow "
     "labels, path MTU"},
};

void AddLatency(std::uint32_t bytes, std::uint32_t iterations, v1::CampaignSpec& spec) {
  v1::RcWriteLatency& probe = *spec.add_probes()->mutable_rc_write_latency();
  probe.set_message_bytes(bytes);
  probe.set_iterations(iterations);
}

void AddBandwidth(std::uint32_t bytes, std::uint32_t iterations, bool bidirectional,
                  v1::CampaignSpec& spec) {
  v1::RcWriteBandwidth& probe = *spec.add_probes()->mutable_rc_write_bandwidth();
  probe.set_message_bytes(bytes);
  probe.set_iterations(iterations);
  probe.set_bidirectional(bidirectional);
}

void AddPing(std::uint32_t pings, v1::CampaignSpec& spec) {
  v1::UdPing& probe = *spec.add_probes()->mutable_ud_ping();
  probe.set_pings(pings);
  for (std::uint32_t label = 1; label <= kFlowLabels; ++label) probe.add_flow_labels(label);
}

void AddProbes(v1::CampaignPreset preset, v1::CampaignSpec& spec) {
  switch (preset) {
    case v1::CAMPAIGN_PRESET_QUICK:
      AddLatency(kSmall, 200, spec);
      AddBandwidth(kLarge, 200, false, spec);
      break;
    case v1::CAMPAIGN_PRESET_STANDARD:
      AddLatency(kSmall, 1000, spec);
      AddBandwidth(kLarge, 1000, true, spec);
      AddPing(200, spec);
      break;
    default:
      AddLatency(kSmall, 5000, spec);
      AddLatency(kMedium, 1000, spec);
      AddBandwidth(kLarge, 2000, true, spec);
      AddBandwidth(kHuge, 500, true, spec);
      spec.add_probes()->mutable_rc_read_bandwidth()->set_message_bytes(kLarge);
      spec.mutable_probes()->rbegin()->mutable_rc_read_bandwidth()->set_iterations(1000);
      AddPing(1000, spec);
      spec.add_probes()->mutable_path_mtu();
      break;
  }
}

void SetPairs(v1::CampaignPreset preset, v1::CampaignSpec& spec) {
  if (spec.pattern() != v1::CAMPAIGN_PATTERN_UNSPECIFIED) return;
  if (preset == v1::CAMPAIGN_PRESET_THOROUGH) {
    spec.set_pattern(v1::CAMPAIGN_PATTERN_ALL_PAIRS);
    return;
  }
  spec.set_pattern(v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  if (spec.degree() == 0) spec.set_degree(preset == v1::CAMPAIGN_PRESET_QUICK ? 3 : 8);
  if (preset == v1::CAMPAIGN_PRESET_QUICK) spec.set_until_decided(true);
}

}  // namespace

std::span<const ProbePreset> ProbePresets() {
  return kPresets;
}

std::string ProbePresetNames() {
  std::vector<std::string> names;
  for (const ProbePreset& one : kPresets) names.emplace_back(one.name);
  return Join(names, ", ");
}

Result<v1::CampaignPreset> FindProbePreset(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ProbePreset& one : kPresets) {
    if (one.name == name) return one.preset;
    names.push_back(one.name);
  }
  return Status(Code::kInvalidArgument,
                UnknownName("preset", name, names, "; expected one of " + ProbePresetNames()));
}

Status ApplyPreset(v1::CampaignSpec& spec) {
  const v1::CampaignPreset preset = spec.preset();
  if (preset == v1::CAMPAIGN_PRESET_UNSPECIFIED) return {};
  if (std::ranges::none_of(kPresets, [&](const auto& one) { return one.preset == preset; }))
    return {Code::kInvalidArgument, Format("preset: expected one of {}, saw {}", ProbePresetNames(),
                                           static_cast<int>(preset))};
  if (spec.pattern() == v1::CAMPAIGN_PATTERN_INCAST)
    return {Code::kInvalidArgument, "preset: not supported by the pattern INCAST"};
  if (spec.probes().empty()) AddProbes(preset, spec);
  SetPairs(preset, spec);
  return {};
}

}  // namespace fabric
