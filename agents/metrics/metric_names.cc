#include "agents/metrics/metric_names.h"

#include "agents/inspect/counter_tables/counter_names.h"

namespace fabric::agent {

std::optional<CounterMetric> MetricOf(const v1::Counter& counter, bool of_port) {
  if (!counter.has_neutral()) return std::nullopt;
  const auto found = inspect::FindNeutralCounter(counter.neutral());
  if (!found) return std::nullopt;
  const inspect::NeutralCounter& row = *found->counter;
  CounterMetric metric{.name = of_port ? "fabric_port_" : "fabric_netdev_",
                       .help = row.help,
                       .priority = found->priority,
                       .gauge = inspect::IsGaugeUnit(row.unit)};
  metric.name += row.metric;
  if (!metric.gauge) metric.name += "_total";
  if (row.unit == "microseconds") metric.scale = 1e-6;
  if (row.unit == "percent") metric.scale = 1e-2;
  return metric;
}

}  // namespace fabric::agent
