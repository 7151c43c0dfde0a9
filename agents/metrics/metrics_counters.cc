#include "agents/inspect/counter_tables/counter_names.h"
#include "agents/metrics/metric_families.h"
#include "base/text.h"

namespace fabric::agent {
namespace {

void AddCounter(const Labels& labels, bool of_port, const v1::Counter& counter,
                MetricFamilies& out) {
  const double value = static_cast<double>(counter.value());
  Labels with_name = labels;
  with_name.push_back({"counter", counter.name()});
  if (counter.saturated() && of_port)
    out.Gauge("fabric_port_register_saturated",
              "1 when the register is at its maximum and has stopped counting.", with_name, 1);
  const auto metric = MetricOf(counter, of_port);
  if (!metric)
    return out.Untyped(of_port ? "fabric_port_driver_statistic" : "fabric_netdev_driver_statistic",
                       "Driver statistics without a neutral name, under the driver's name.",
                       std::move(with_name), value);
  Labels named = labels;
  if (!metric->priority.empty()) named.push_back({"priority", std::string(metric->priority)});
  if (metric->gauge)
    out.Gauge(metric->name, metric->help, std::move(named), value * metric->scale);
  else
    out.Counter(metric->name, metric->help, std::move(named), value * metric->scale);
}

}  // namespace

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

void AddCounters(const v1::NodeSnapshot& snapshot, MetricFamilies& out) {
  for (const v1::CounterSet& set : snapshot.counters()) {
    const bool of_port = !set.device().empty();
    Labels labels;
    if (of_port)
      labels = {{"device", set.device()}, {"port", Format("{}", set.port())}};
    else
      labels = {{"netdev", set.netdev()}};
    for (const v1::Counter& counter : set.counters()) AddCounter(labels, of_port, counter, out);
  }
}

}  // namespace fabric::agent
