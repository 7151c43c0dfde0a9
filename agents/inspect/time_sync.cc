#include <cmath>

#include "agents/inspect/attributes.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kTimeSyncName = "time_sync";

// Whole milliseconds: what correlates events of two nodes, without the noise of a clock that is
// being kept right.
double RoundedOffset(std::chrono::nanoseconds offset) {
  const double milliseconds = std::round(std::chrono::duration<double, std::milli>(offset).count());
  return milliseconds == 0 ? 0 : milliseconds / 1000;  // Not -0.
}

// Up to the next power of ten: the bound grows between two updates all the time.
double RoundedUp(std::chrono::microseconds error) {
  constexpr double kBounds[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100};
  const double seconds = std::chrono::duration<double>(error).count();
  for (const double bound : kBounds)
    if (seconds <= bound) return bound;
  return seconds;
}

Status InspectTimeSync(const Host& host, v1::NodeSnapshot& out) {
  const Result<host::ClockState> clock = host.platform.Clock();
  if (!clock.ok()) {
    AddGap(out, kTimeSyncName, "", "adjtimex", clock.status());
    return {};
  }
  v1::TimeSync& sync = *out.mutable_time_sync();
  sync.set_source("adjtimex");
  sync.set_synchronized(clock->synchronized);
  if (!clock->synchronized) return {};  // Offset and error are meaningless.
  sync.set_offset_seconds(RoundedOffset(clock->offset));
  sync.set_max_error_seconds(RoundedUp(clock->max_error));
  return {};
}

}  // namespace

extern const Inspector time_sync = {
    .name = kTimeSyncName,
    .doc = "Clock synchronization: state, offset and maximum error.",
    .inspect = InspectTimeSync,
    .wakes = EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kTimeSyncFieldNumber},
};

}  // namespace fabric::inspect
