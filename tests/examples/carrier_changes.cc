#include "agents/inspect/attributes.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "carrier_changes";

Result<std::uint64_t> ParseCount(std::string_view text) {
  return ParseNumber<std::uint64_t>(text);
}

Status InspectCarrierChanges(const Host& host, v1::NodeSnapshot& out) {
  for (const v1::NetInterface& netdev : out.net_interfaces()) {
    const Gaps gaps{.snapshot = out, .inspector = kName, .subject = netdev.name()};
    const auto files = Attributes::Open(host, "sys/class/net/" + netdev.name(), gaps);
    if (!files.ok()) continue;  // A gap of net_interfaces
    // What cannot be read is a gap by now, and the counter is absent: never 0.
    const auto count = files->Parsed("carrier_changes", ParseCount);
    if (!count) continue;
    v1::Counter& counter = *NetdevCounters(out, netdev.name()).add_counters();
    counter.set_name(std::string(kName));
    counter.set_value(*count);
    counter.set_unit("events");
  }
  return {};
}

}  // namespace

extern const Inspector carrier_changes = {
    .name = kName,
    .doc = "How often the link of each netdev came or went.",
    .inspect = InspectCarrierChanges,
};

}  // namespace fabric::inspect
