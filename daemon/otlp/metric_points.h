// Metrics of the controller as requests of OTLP. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "opentelemetry/proto/collector/metrics/v1/metrics_service.pb.h"
#include "opentelemetry/proto/resource/v1/resource.pb.h"

namespace fabric::otlp {

using MetricsRequest = opentelemetry::proto::collector::metrics::v1::ExportMetricsServiceRequest;
using Resource = opentelemetry::proto::resource::v1::Resource;

struct MetricTimes {
  // Counters and histograms count since then; those named process_* since the process started.
  WallTime process_started;
  WallTime controller_started;
  WallTime now;
};

// The families with their names and labels: counters as monotonic sums, gauges, and histograms. A
// request has at most `bytes_max` bytes, unless one point is larger.
std::vector<MetricsRequest> MetricsRequests(const std::vector<prometheus::MetricFamily>& families,
                                            const Resource& resource, const MetricTimes& times,
                                            std::size_t bytes_max);

std::uint64_t PointsOf(const MetricsRequest& request);

}  // namespace fabric::otlp
