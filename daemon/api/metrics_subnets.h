// Metric families about InfiniBand subnets and the topology file.
#pragma once

#include <prometheus/metric_family.h>

#include "daemon/api/metrics.h"

namespace fabric::api {

void TopologyPorts(const MetricsInput& input, prometheus::MetricFamily& family);
void TopologyMadeAt(const MetricsInput& input, prometheus::MetricFamily& family);
void SubnetNodes(const MetricsInput& input, prometheus::MetricFamily& family);
void SubnetCables(const MetricsInput& input, prometheus::MetricFamily& family);
void SubnetReadAt(const MetricsInput& input, prometheus::MetricFamily& family);
void SubnetProblem(const MetricsInput& input, prometheus::MetricFamily& family);
void SubnetErrors(const MetricsInput& input, prometheus::MetricFamily& family);

}  // namespace fabric::api
