#include "agents/inspect/attributes.h"
#include "agents/inspect/counter_table.h"
#include "agents/inspect/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kName = "hw_counters";
constexpr std::string_view kCacheSetting = "lifespan";  // Milliseconds; no counter.

void Add(const std::string& name, std::uint64_t value, v1::CounterSet& set) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(name);
  counter.set_value(value);
  counter.set_source(v1::COUNTER_SOURCE_HW);
  counter.set_unit(std::string(UnitOf(name)));
}

Result<std::uint64_t> ParseValue(std::string_view text) {
  return ParseNumber<std::uint64_t>(text);
}

void FromSysfs(const Host& host, const v1::RdmaDevice& device, const v1::Port& port,
               v1::NodeSnapshot& out) {
  const std::string path = PortPath(device, port) + "/hw_counters";
  const Gaps gaps{.snapshot = out, .inspector = kName, .subject = PortName(device, port)};
  const Result<Attributes> files = Attributes::Open(host, path, gaps);
  const Result<std::vector<std::string>> names = PlainNames(host, path, gaps);
  if (!files.ok() || !names.ok()) {
    const Status status = files.ok() ? names.status() : files.status();
    return gaps.Add(path, status.code() == Code::kNotFound
                              ? Status(Code::kUnimplemented, "the driver has no such counters")
                              : status);
  }
  for (const std::string& name : *names) {
    if (name == kCacheSetting) continue;
    if (const auto value = files->Parsed(name, ParseValue))
      Add(name, *value, PortCounters(out, device, port));
  }
}

// Netlink asks the hardware anew and gives all counters at once; the files may be some
// milliseconds old.
Status InspectHwCounters(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  for (const v1::RdmaDevice& device : out.rdma_devices()) {
    const auto info = by_name.find(device.name());
    for (const v1::Port& port : device.ports()) {
      const auto counters =
          info == by_name.end()
              ? Result<std::vector<host::NamedCounter>>(Status(Code::kUnimplemented, "no netlink"))
              : host.rdma.Counters(info->second.index, port.number());
      if (!counters.ok()) {
        FromSysfs(host, device, port, out);
        continue;
      }
      for (const host::NamedCounter& counter : *counters)
        if (IsPlainName(counter.name))
          Add(counter.name, counter.value, PortCounters(out, device, port));
    }
  }
  return {};
}

}  // namespace

extern const Inspector hw_counters = {
    .name = kName,
    .doc = "Counters of the RDMA hardware by the driver's names.",
    .inspect = InspectHwCounters,
    .wakes = EventKind::kRdma | EventKind::kDcb | EventKind::kHotplug | EventKind::kCheck,
    .owns = "counters",
};

}  // namespace fabric::inspect
