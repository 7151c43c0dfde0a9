#include "tests/tools/counters_reference.h"

#include <vector>

#include "agents/inspect/counter_tables/counter_table.h"
#include "agents/metrics/metric_families.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHead = R"(# Counters

Generated from the tables of counters by `counters_reference`; do not edit.

Drivers use different names for the same event, and the same name for different events. The agent
adds a vendor-neutral name to each known counter, from the table of the driver. A counter that the
driver does not have is absent, never 0. In names, `#` is a priority from 0 to 7;
in metrics it is the label `priority`. Counters of RDMA ports have the labels `device` and `port`
(port 0: the driver counts for the whole device), those of netdevs the label `netdev`. Metrics are
in base units: seconds for microseconds, ratios for percent. All but ratios are counters.

What has no neutral name goes by the driver's, without promise: `fabric_port_driver_statistic` and
`fabric_netdev_driver_statistic` with the label `counter`. Registers that stand at their maximum and
count no further are `fabric_port_register_saturated`. With `--compat node-exporter` the metrics
`node_infiniband_*` of node_exporter's collector are there as well, each with its name, labels and
value there; they follow the names of the files and not these tables.

## Neutral names

)";

constexpr std::string_view kRegisters = R"(
## Registers of InfiniBand

`ports/N/counters`, the same for all drivers that have them, and `counters_ext` of kernels before
4.5. Registers of less than 64 bits stop at their maximum until they are reset. Without extended
counters, the others stop at 32 bits. Data is counted in words of four bytes and shown in bytes.

| driver's name | neutral name | bits |
|---|---|---|
)";

// Where a neutral name occurs: of RDMA ports, of netdevs.
struct Places {
  bool ports = false;
  bool netdevs = false;
};

Places PlacesOf(std::string_view neutral) {
  Places places;
  for (const PortRegister& row : AllPortRegisters()) places.ports |= row.neutral == neutral;
  for (const CounterTable* table : AllCounterTables()) {
    for (const CounterRow& row : table->rows)
      if (row.neutral == neutral) (row.source == kHw ? places.ports : places.netdevs) = true;
    for (const CounterSum& sum : table->sums) places.ports |= sum.neutral == neutral;
  }
  return places;
}

std::string Metrics(const NeutralCounter& row) {
  const Places places = PlacesOf(row.name);
  v1::Counter counter;
  std::string name(row.name);
  if (name.ends_with('#')) name.back() = '0';
  counter.set_neutral(name);
  std::vector<std::string> metrics;
  if (places.ports) metrics.push_back("`" + agent::MetricOf(counter, true)->name + "`");
  if (places.netdevs) metrics.push_back("`" + agent::MetricOf(counter, false)->name + "`");
  return Join(metrics, ", ");
}

std::string_view SourceName(v1::CounterSource source) {
  if (source == kHw) return "hw_counters";
  if (source == kEthtool) return "ethtool";
  return "DCB netlink";
}

std::string Wraps(const CounterTable& table) {
  std::string line = Format("Hardware counters wrap at {} bits", table.hw_width_bits);
  if (!table.wide_hw.empty())
    line += Format(", but for `{}`", Join({table.wide_hw.begin(), table.wide_hw.end()}, "`, `"));
  return line + ".\n";
}

std::string Table(const CounterTable& table) {
  std::string page = Format("\n## {}\n\n{}.\n", table.name, table.title);
  if (table.hw_width_bits < 64) page += Wraps(table);
  if (!table.rows.empty())
    page += "\n| source | driver's name | neutral name | remark |\n|---|---|---|---|\n";
  for (const CounterRow& row : table.rows) {
    std::string remark(row.note);
    if (row.neutral.empty() && !row.unit.empty())
      remark += Format("{}Unit: {}.", remark.empty() ? "" : " ", row.unit);
    page += Format("| {} | `{}` | {} | {} |\n", SourceName(row.source), row.name,
                   row.neutral.empty() ? "" : Format("`{}`", row.neutral), remark);
  }
  for (const CounterSum& sum : table.sums)
    page += Format("| {} | `{}` + `{}` | `{}` | Where both are there. |\n", SourceName(sum.source),
                   sum.first, sum.second, sum.neutral);
  return page;
}

}  // namespace

std::string CountersReference() {
  std::string page(kHead);
  page += "| name | unit | metric | meaning |\n|---|---|---|---|\n";
  for (const NeutralCounter& row : AllNeutralCounters())
    page += Format("| `{}` | {} | {} | {} |\n", row.name, row.unit, Metrics(row), row.help);
  page += kRegisters;
  for (const PortRegister& row : AllPortRegisters())
    page += Format("| `{}` | `{}` | {} |\n", row.name, row.neutral, row.width_bits);
  for (const CounterTable* table : AllCounterTables()) page += Table(*table);
  return page;
}

}  // namespace fabric::inspect
