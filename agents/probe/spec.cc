#include "agents/probe/spec.h"

#include <bit>

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kTimeoutMinMs = 10;
constexpr std::uint32_t kTimeoutMaxMs = 600'000;

}  // namespace

Status CheckBound(const Bound& bound) {
  if (bound.value >= bound.min && bound.value <= bound.max) return {};
  return {Code::kInvalidArgument,
          Format("{}: expected {} to {}, saw {}", bound.field, bound.min, bound.max, bound.value)};
}

Status CheckCommon(const v1::ProbeSpec& spec) {
  RETURN_IF_ERROR(CheckBound({"timeout_ms", TimeoutMs(spec), kTimeoutMinMs, kTimeoutMaxMs}));
  RETURN_IF_ERROR(CheckBound({"traffic_class", spec.traffic_class(), 0, 255}));
  return CheckSettings(spec.queue_pair());
}

std::uint32_t TimeoutMs(const v1::ProbeSpec& spec) {
  return spec.timeout_ms() == 0 ? kTimeoutDefaultMs : spec.timeout_ms();
}

// The bounds are the widths of fields in InfiniBand's headers and queue pair attributes.
Status CheckSettings(const v1::QueuePairSettings& wanted) {
  RETURN_IF_ERROR(CheckBound({"queue_pair.gid_index", wanted.gid_index(), 0, 255}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.timeout", wanted.timeout(), 0, 31}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.retry_count", wanted.retry_count(), 0, 7}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.rnr_retry", wanted.rnr_retry(), 0, 7}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.service_level", wanted.service_level(), 0, 15}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.flow_label", wanted.flow_label(), 0, kFlowLabelMax}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.pkey", wanted.pkey(), 0, 0x7fff}));
  if (wanted.has_traffic_class())
    return {Code::kInvalidArgument,
            "queue_pair.traffic_class: not allowed here; set traffic_class of the probe"};
  if (!wanted.has_path_mtu_bytes()) return {};
  const std::uint32_t mtu = wanted.path_mtu_bytes();
  if (std::has_single_bit(mtu) && mtu >= kPathMtuMin && mtu <= kPathMtuMax) return {};
  return {Code::kInvalidArgument,
          Format("queue_pair.path_mtu_bytes: expected 256, 512, 1024, 2048 or 4096, saw {}", mtu)};
}

host::ConnectionSettings SettingsOf(const v1::ProbeSpec& spec, std::uint32_t path_mtu_max) {
  const v1::QueuePairSettings& wanted = spec.queue_pair();
  host::ConnectionSettings settings;
  settings.path_mtu_bytes = wanted.has_path_mtu_bytes() ? wanted.path_mtu_bytes() : path_mtu_max;
  if (wanted.has_timeout()) settings.timeout = wanted.timeout();
  if (wanted.has_retry_count()) settings.retry_count = wanted.retry_count();
  if (wanted.has_rnr_retry()) settings.rnr_retry = wanted.rnr_retry();
  settings.service_level = wanted.service_level();
  settings.flow_label = wanted.flow_label();
  settings.traffic_class = spec.traffic_class();
  return settings;
}

std::optional<std::uint32_t> GidIndexOf(const v1::QueuePairSettings& wanted) {
  return wanted.has_gid_index() ? std::optional(wanted.gid_index()) : std::nullopt;
}

host::PortOptions PortOptionsOf(const v1::ProbePort& at, std::uint32_t gid_index,
                                const v1::QueuePairSettings& wanted) {
  host::PortOptions options{.device = at.device(), .port = at.port(), .gid_index = gid_index};
  if (wanted.has_pkey()) options.pkey = static_cast<std::uint16_t>(wanted.pkey());
  return options;
}

v1::QueuePairSettings Used(const host::ConnectionSettings& settings, std::uint32_t gid_index,
                           const v1::ProbeSpec& spec) {
  v1::QueuePairSettings used;
  used.set_gid_index(gid_index);
  used.set_path_mtu_bytes(settings.path_mtu_bytes);
  used.set_timeout(settings.timeout);
  used.set_retry_count(settings.retry_count);
  used.set_rnr_retry(settings.rnr_retry);
  used.set_service_level(settings.service_level);
  used.set_flow_label(settings.flow_label);
  used.set_traffic_class(settings.traffic_class);
  if (spec.queue_pair().has_pkey()) used.set_pkey(spec.queue_pair().pkey());
  return used;
}

v1::ProbeEndpoint ToProto(const host::Endpoint& endpoint) {
  v1::ProbeEndpoint proto;
  for (std::size_t n = 0; n < endpoint.queue_pairs.size(); ++n) {
    const host::Endpoint::QueuePair& pair = endpoint.queue_pairs[n];
    if (n == 0) {
      proto.set_queue_pair_number(pair.number);
      proto.set_packet_sequence_number(pair.packet_sequence_number);
      continue;
    }
    v1::QueuePairAddress& further = *proto.add_further_queue_pairs();
    further.set_number(pair.number);
    further.set_packet_sequence_number(pair.packet_sequence_number);
  }
  proto.set_queue_key(endpoint.queue_key);
  proto.set_gid(endpoint.gid);
  proto.set_gid_index(endpoint.gid_index);
  proto.set_lid(endpoint.lid);
  proto.set_active_mtu_bytes(endpoint.active_mtu_bytes);
  proto.set_remote_address(endpoint.remote_address);
  proto.set_remote_key(endpoint.remote_key);
  proto.set_memory_bytes(endpoint.memory_bytes);
  proto.set_outstanding_reads(endpoint.outstanding_reads);
  return proto;
}

host::Endpoint FromProto(const v1::ProbeEndpoint& proto) {
  host::Endpoint endpoint{
      .queue_pairs = {{.number = proto.queue_pair_number(),
                       .packet_sequence_number = proto.packet_sequence_number()}},
      .queue_key = proto.queue_key(),
      .gid = proto.gid(),
      .gid_index = proto.gid_index(),
      .lid = proto.lid(),
      .active_mtu_bytes = proto.active_mtu_bytes(),
      .remote_address = proto.remote_address(),
      .remote_key = proto.remote_key(),
      .memory_bytes = proto.memory_bytes(),
      .outstanding_reads = proto.outstanding_reads()};
  for (const v1::QueuePairAddress& pair : proto.further_queue_pairs())
    endpoint.queue_pairs.push_back(
        {.number = pair.number(), .packet_sequence_number = pair.packet_sequence_number()});
  return endpoint;
}

}  // namespace fabric::probe
