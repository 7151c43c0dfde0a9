#include "agents/probe/numbers.h"

#include "agents/probe/settings.h"
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

}  // namespace fabric::probe
