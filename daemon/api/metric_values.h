// Values of metric families.
#pragma once

#include <prometheus/metric_family.h>

#include <utility>
#include <vector>

namespace fabric::api {

// Of a gauge or a counter.
inline void Add(prometheus::MetricFamily& family,
                std::vector<prometheus::ClientMetric::Label> labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.gauge.value = value;
  metric.counter.value = value;
}

}  // namespace fabric::api
