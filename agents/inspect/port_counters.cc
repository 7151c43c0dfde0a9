#include <string>
#include <utility>
#include <vector>

#include "agents/inspect/attributes.h"
#include "agents/inspect/counter_tables/counter_table.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kPortCountersName = "port_counters";

// Reads one directory of the port. `expected`: its absence is a gap.
void ReadDirectory(const Host& host, const std::string& path, const Gaps& gaps, bool expected,
                   v1::CounterSet& set) {
  const Result<Dir> dir = host.root.Sub(path);
  const Result<std::vector<std::string>> names =
      dir.ok() ? PlainNames(host, path, gaps) : Result<std::vector<std::string>>(dir.status());
  if (!names.ok()) {
    const bool absent = names.status().code() == Code::kNotFound;
    if (!absent) return gaps.Add(path, names.status());
    if (expected)
      gaps.Add(path, host.captured
                         ? Status(Code::kNotFound, "not in the captured tree")
                         : Status(Code::kUnimplemented, "the driver has no port counters"));
    return;
  }
  std::vector<std::pair<std::string, Status>> failures;
  for (const std::string& name : *names) {
    const Result<std::string> text = dir->Text(name);
    Result<v1::Counter> counter = text.ok() ? ParsePortCounter(name, *text) : text.status();
    if (counter.ok())
      set.add_counters()->Swap(&*counter);
    else
      failures.emplace_back(path + "/" + name, counter.status());
  }
  // A driver without performance management may have the files, none of which is readable.
  if (!expected && failures.size() == names->size()) return;
  for (const auto& [file, status] : failures) gaps.Add(file, status);
}

Status InspectPortCounters(const Host& host, v1::NodeSnapshot& out) {
  for (const v1::RdmaDevice& device : out.rdma_devices()) {
    if (!MayReadCounters(device)) continue;
    const CounterTable* const table = CountersOf(device);
    const bool expected = table == nullptr || table->port_counters;
    for (const v1::Port& port : device.ports()) {
      const std::string path = PortPath(device, port);
      const Gaps gaps{
          .snapshot = out, .inspector = kPortCountersName, .subject = PortName(device, port)};
      v1::CounterSet set;
      ReadDirectory(host, path + "/counters", gaps, expected, set);
      // Registers of 64 bits, which joined the others in Linux 4.5.
      ReadDirectory(host, path + "/counters_ext", gaps, false, set);
      if (set.counters_size() == 0) continue;
      NameCounters(table, set);
      PortCounters(out, device.name(), port.number()).MergeFrom(set);
    }
  }
  return {};
}

}  // namespace

extern const Inspector port_counters = {
    .name = kPortCountersName,
    .doc = "Port counters of InfiniBand's performance management, data in bytes.",
    .inspect = InspectPortCounters,
    .wakes = EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kCountersFieldNumber},
};

}  // namespace fabric::inspect
