#include "agents/probe/settings.h"

#include <bit>

#include "agents/probe/numbers.h"
#include "base/text.h"

namespace fabric::probe {

// The bounds are the widths of fields in InfiniBand's headers and queue pair attributes.
Status CheckSettings(const v1::QueuePairSettings& wanted) {
  RETURN_IF_ERROR(CheckBound({"queue_pair.gid_index", wanted.gid_index(), 0, 255}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.timeout", wanted.timeout(), 0, 31}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.retry_count", wanted.retry_count(), 0, 7}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.rnr_retry", wanted.rnr_retry(), 0, 7}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.service_level", wanted.service_level(), 0, 15}));
  RETURN_IF_ERROR(CheckBound({"queue_pair.flow_label", wanted.flow_label(), 0, kFlowLabelMax}));
  if (wanted.has_traffic_class())
    return {Code::kInvalidArgument,
            "queue_pair.traffic_class: expected none, it is the probe's own traffic_class"};
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

v1::QueuePairSettings Used(const host::ConnectionSettings& settings, std::uint32_t gid_index) {
  v1::QueuePairSettings used;
  used.set_gid_index(gid_index);
  used.set_path_mtu_bytes(settings.path_mtu_bytes);
  used.set_timeout(settings.timeout);
  used.set_retry_count(settings.retry_count);
  used.set_rnr_retry(settings.rnr_retry);
  used.set_service_level(settings.service_level);
  used.set_flow_label(settings.flow_label);
  used.set_traffic_class(settings.traffic_class);
  return used;
}

}  // namespace fabric::probe
