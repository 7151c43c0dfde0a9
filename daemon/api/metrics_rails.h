// Metric families by rail and leaf: ports, probes and the mesh.
#pragma once

#include <prometheus/metric_family.h>

#include "daemon/api/metrics.h"

namespace fabric::api {

void RailPortStates(const MetricsInput& input, prometheus::MetricFamily& family);
void RailPortRates(const MetricsInput& input, prometheus::MetricFamily& family);
void RailPortMtus(const MetricsInput& input, prometheus::MetricFamily& family);
void Latency(const MetricsInput& input, prometheus::MetricFamily& family);
void Bandwidth(const MetricsInput& input, prometheus::MetricFamily& family);
void MeshPings(const MetricsInput& input, prometheus::MetricFamily& family);
void MeshRoundTrip(const MetricsInput& input, prometheus::MetricFamily& family);
void MeshLeafPings(const MetricsInput& input, prometheus::MetricFamily& family);
void MeshLeavesOmitted(const MetricsInput& input, prometheus::MetricFamily& family);
void MeshWorstLoss(const MetricsInput& input, prometheus::MetricFamily& family);
void MeshWorstRoundTrip(const MetricsInput& input, prometheus::MetricFamily& family);

}  // namespace fabric::api
