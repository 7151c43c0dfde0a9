#include "agents/inspect/boot_time.h"

#include "agents/inspect/inspector.h"
#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::inspect {
namespace {

// No gap: captures seldom have the file, and nothing but the grace after a boot asks for it.
Status InspectBootTime(const Host& host, v1::NodeSnapshot& out) {
  const Result<std::string> stat = host.root.Whole("proc/stat");
  if (!stat.ok()) return {};
  if (const auto booted_at = BootTimeOf(*stat))
    *out.mutable_host()->mutable_booted_at() = ToProto(*booted_at);
  return {};
}

}  // namespace

std::optional<WallTime> BootTimeOf(std::string_view stat) {
  constexpr std::string_view kKey = "btime ";
  for (const std::string_view line : Split(stat, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const auto seconds = ParseNumber<std::uint32_t>(Trim(line.substr(kKey.size())));
    // The kernel of a machine without a clock of its own counts from 1970.
    if (seconds.ok() && *seconds > 0) return WallTime(std::chrono::seconds(*seconds));
  }
  return std::nullopt;
}

extern const Inspector boot_time = {
    .name = "boot_time",
    .doc = "Boot time, by the machine's clock.",
    .inspect = InspectBootTime,
    .wakes = EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kHostFieldNumber},
};

}  // namespace fabric::inspect
