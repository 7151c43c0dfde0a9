// What a counter is called in Prometheus: from the neutral names that inspection gives.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

struct CounterMetric {
  std::string name;  // "fabric_netdev_pfc_frames_received_total"
  std::string_view help;
  std::string_view priority;  // The digit; empty for what has none. Borrows from the counter.
  double scale = 1;           // From the counter's unit to the metric's: seconds, ratios
  bool gauge = false;
};

// `of_port`: of an RDMA port or device, else of a netdev. Empty for a counter without neutral name.
std::optional<CounterMetric> MetricOf(const v1::Counter& counter, bool of_port);

}  // namespace fabric::agent
