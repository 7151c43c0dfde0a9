// Probe specs: bounds and defaults, and conversion between messages and host types. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "agents/host/verbs/queue_pairs.h"
#include "base/status.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

inline constexpr std::uint32_t kTimeoutDefaultMs = 10'000;
inline constexpr std::uint32_t kPathMtuMin = 256;
inline constexpr std::uint32_t kPathMtuMax = 4096;
inline constexpr std::uint32_t kFlowLabelMax = (1U << 20) - 1;

struct Bound {
  std::string_view field;  // "message_bytes"
  std::uint32_t value;
  std::uint32_t min;
  std::uint32_t max;
};

// The checks return INVALID_ARGUMENT with the field, its bounds and its value.
Status CheckBound(const Bound& bound);
Status CheckSettings(const v1::QueuePairSettings& wanted);
// Fields of all kinds: timeout_ms, traffic_class and queue_pair.
Status CheckCommon(const v1::ProbeSpec& spec);

std::uint32_t TimeoutMs(const v1::ProbeSpec& spec);

// Settings with which both ends connect: those of the spec, else defaults. `path_mtu_max` is the
// smaller active MTU of both ends.
host::ConnectionSettings SettingsOf(const v1::ProbeSpec& spec, std::uint32_t path_mtu_max);

// All settings, for a result.
v1::QueuePairSettings Used(const host::ConnectionSettings& settings, std::uint32_t gid_index,
                           const v1::ProbeSpec& spec = {});
// Absent: chosen by the agent.
std::optional<std::uint32_t> GidIndexOf(const v1::QueuePairSettings& wanted);
host::PortOptions PortOptionsOf(const v1::ProbePort& at, std::uint32_t gid_index,
                                const v1::QueuePairSettings& wanted);

v1::ProbeEndpoint ToProto(const host::Endpoint& endpoint);
host::Endpoint FromProto(const v1::ProbeEndpoint& proto);

}  // namespace fabric::probe
