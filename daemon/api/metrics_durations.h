// Metric families about durations: calls of the API and turns of the controller.
#pragma once

#include <prometheus/metric_family.h>

#include "daemon/api/metrics.h"

namespace fabric::api {

void RequestDurations(const MetricsInput& input, prometheus::MetricFamily& family);
void TurnLengths(const MetricsInput& input, prometheus::MetricFamily& family);
void TurnWaits(const MetricsInput& input, prometheus::MetricFamily& family);
void LongestTurns(const MetricsInput& input, prometheus::MetricFamily& family);
void LongestWaits(const MetricsInput& input, prometheus::MetricFamily& family);

}  // namespace fabric::api
