// Presets of campaigns: kinds, sizes and pairs by purpose. Pure.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric {

struct ProbePreset {
  v1::CampaignPreset preset;
  std::string_view name;      // "quick"
  std::string_view contents;  // What it probes, for help and documentation
};

std::span<const ProbePreset> ProbePresets();
// "quick, standard, thorough"
std::string ProbePresetNames();
// The preset with this name. INVALID_ARGUMENT, with the closest name.
Result<v1::CampaignPreset> FindProbePreset(std::string_view name);

// Fills in probes, pattern, degree and until_decided of `spec.preset`, as far as they are not set.
// No effect without a preset. INVALID_ARGUMENT: unknown preset, or one that the pattern INCAST does
// not support.
Status ApplyPreset(v1::CampaignSpec& spec);

}  // namespace fabric
