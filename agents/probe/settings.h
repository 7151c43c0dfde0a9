// The queue pair settings of a probe: those of a job where it names them. Pure.
#pragma once

#include <cstdint>

#include "agents/host/verbs/queue_pairs.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// INVALID_ARGUMENT with the field, the bounds and what was seen.
Status CheckSettings(const v1::QueuePairSettings& wanted);

// What both ends connect with. `path_mtu_max` is the smaller active MTU of both.
host::ConnectionSettings SettingsOf(const v1::ProbeSpec& spec, std::uint32_t path_mtu_max);

// All of them, for a result.
v1::QueuePairSettings Used(const host::ConnectionSettings& settings, std::uint32_t gid_index);

}  // namespace fabric::probe
