// Metrics of what the controller sends: notifications, and the export by OTLP.
#pragma once

#include <prometheus/metric_family.h>

#include "daemon/api/metrics.h"

namespace fabric::api {

void Notifications(const MetricsInput& input, prometheus::MetricFamily& family);
void NotificationsPending(const MetricsInput& input, prometheus::MetricFamily& family);
void OtlpExports(const MetricsInput& input, prometheus::MetricFamily& family);
void OtlpDropped(const MetricsInput& input, prometheus::MetricFamily& family);

}  // namespace fabric::api
