#include "agents/inspect/attributes.h"
#include "agents/inspect/counter_tables/counter_table.h"
#include "agents/inspect/parse/parse.h"
#include "agents/inspect/rdma.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHwCountersName = "hw_counters";
constexpr std::string_view kCacheSetting = "lifespan";  // Milliseconds; no counter.

void Add(const std::string& name, std::uint64_t value, v1::CounterSet& set) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(name);
  counter.set_value(value);
  counter.set_source(kHw);
}

void ReadLifespan(const Dir& files, v1::Port& port) {
  if (const auto age = files.Number<std::uint32_t>(std::string(kCacheSetting)); age.ok())
    port.set_counter_lifespan_ms(*age);
}

// One directory hw_counters; `port` is nullptr for that of the device.
Status FromSysfs(const Host& host, const std::string& path, const Gaps& gaps, v1::Port* port,
                 v1::CounterSet& set) {
  ASSIGN_OR_RETURN(const Dir files, host.root.Sub(path));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PlainNames(host, path, gaps));
  for (const std::string& name : names) {
    if (name == kCacheSetting) continue;
    if (const auto value = files.Number<std::uint64_t>(name); value.ok())
      Add(name, *value, set);
    else
      gaps.Add(path + "/" + name, value.status());
  }
  if (port != nullptr) ReadLifespan(files, *port);
  return {};
}

// Netlink reads the hardware and returns all counters at once; the files may be as old as their
// `lifespan`, some milliseconds.
bool FromNetlink(const Host& host, const host::RdmaDeviceInfo& info, const std::string& path,
                 v1::Port& port, v1::CounterSet& set) {
  const auto counters = host.rdma.Counters(info.index, port.number());
  if (!counters.ok()) return false;
  for (const host::NamedCounter& counter : *counters)
    if (IsPlainName(counter.name)) Add(counter.name, counter.value, set);
  if (const Result<Dir> files = host.root.Sub(path); files.ok()) ReadLifespan(*files, port);
  return true;
}

struct DeviceReader {
  const Host& host;
  v1::NodeSnapshot& out;
  const CounterTable* table;
  const host::RdmaDeviceInfo* info;  // Of netlink; may be nullptr.

  // Some drivers count for the whole device, as port 0.
  bool ReadDevice(const v1::RdmaDevice& device) const {
    const std::string path = RdmaPath(device) + "/hw_counters";
    const Gaps gaps{.snapshot = out, .inspector = kHwCountersName, .subject = device.name()};
    v1::CounterSet set;
    const Status status = FromSysfs(host, path, gaps, nullptr, set);
    if (!status.ok() && status.code() != Code::kNotFound) gaps.Add(path, status);
    return Take(device, 0, set);
  }

  void ReadPort(const v1::RdmaDevice& device, v1::Port& port, bool expected) const {
    const std::string path = PortPath(device, port) + "/hw_counters";
    const Gaps gaps{
        .snapshot = out, .inspector = kHwCountersName, .subject = PortName(device, port)};
    v1::CounterSet set;
    if (info == nullptr || !FromNetlink(host, *info, path, port, set)) {
      const Status status = FromSysfs(host, path, gaps, &port, set);
      const bool absent = status.code() == Code::kNotFound;
      if (absent && expected)
        gaps.Add(path, host.captured
                           ? Status(Code::kNotFound, "not in the captured tree")
                           : Status(Code::kUnimplemented, "the driver has no such counters"));
      if (!status.ok() && !absent) gaps.Add(path, status);
    }
    Take(device, port.number(), set);
  }

  bool Take(const v1::RdmaDevice& device, std::uint32_t port, const v1::CounterSet& set) const {
    if (set.counters_size() == 0) return false;
    v1::CounterSet& all = PortCounters(out, device.name(), port);
    all.MergeFrom(set);
    NameCounters(table, all);
    return true;
  }
};

Status InspectHwCounters(const Host& host, v1::NodeSnapshot& out) {
  const std::map<std::string, host::RdmaDeviceInfo> by_name = NetlinkDevices(host);
  for (v1::RdmaDevice& device : *out.mutable_rdma_devices()) {
    if (!MayReadCounters(device)) continue;
    const auto info = by_name.find(device.name());
    const DeviceReader reader{.host = host,
                              .out = out,
                              .table = CountersOf(device),
                              .info = info == by_name.end() ? nullptr : &info->second};
    const bool of_device = reader.ReadDevice(device);
    const bool expected = !of_device && (reader.table == nullptr || reader.table->hw_counters);
    for (v1::Port& port : *device.mutable_ports()) reader.ReadPort(device, port, expected);
  }
  return {};
}

void KeepLifespans(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) {
  ForEachSamePort(previous, snapshot, [](const v1::Port& before, v1::Port& port) {
    if (before.has_counter_lifespan_ms())
      port.set_counter_lifespan_ms(before.counter_lifespan_ms());
  });
}

}  // namespace

extern const Inspector hw_counters = {
    .name = kHwCountersName,
    .doc = "Counters of the RDMA hardware by the driver's names.",
    .inspect = InspectHwCounters,
    .wakes = EventKind::kRdma | EventKind::kHotplug | EventKind::kCheck,
    .owns = {v1::NodeSnapshot::kCountersFieldNumber},
    .keep = KeepLifespans,
};

}  // namespace fabric::inspect
