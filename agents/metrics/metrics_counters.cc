#include "agents/metrics/metric_names.h"
#include "agents/metrics/metrics_parts.h"
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
              "1 when the register stands at its maximum and counts no further.", with_name, 1);
  const auto metric = MetricOf(counter, of_port);
  if (!metric)
    return out.Untyped(
        of_port ? "fabric_port_driver_statistic" : "fabric_netdev_driver_statistic",
        "Statistics of the driver that have no neutral name, as the driver names them.",
        std::move(with_name), value);
  Labels named = labels;
  if (!metric->priority.empty()) named.push_back({"priority", std::string(metric->priority)});
  if (metric->gauge)
    out.Gauge(metric->name, metric->help, std::move(named), value * metric->scale);
  else
    out.Counter(metric->name, metric->help, std::move(named), value * metric->scale);
}

}  // namespace

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
