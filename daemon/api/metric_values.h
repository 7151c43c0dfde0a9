// Values of metric families.
#pragma once

#include <prometheus/metric_family.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabric::api {

// Value of a label for the name of an enumerator: "DOWN" is "down", "?" is "unknown".
inline std::string LowerName(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "?" ? "unknown" : lower;
}

// Of a gauge or a counter.
inline void Add(prometheus::MetricFamily& family,
                std::vector<prometheus::ClientMetric::Label> labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.gauge.value = value;
  metric.counter.value = value;
}

}  // namespace fabric::api
