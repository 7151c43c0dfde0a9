#include "daemon/otlp/metric_points.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "daemon/otlp/attributes.h"

namespace fabric::otlp {
namespace {

namespace wire = opentelemetry::proto::metrics::v1;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Upper bounds of tags and lengths, with the times and values of a point. Texts have less than 16
// KiB.
constexpr std::size_t kFrameBytes = 64;  // Of a request, and of a metric without its texts
constexpr std::size_t kPointBytes = 32;
constexpr std::size_t kHistogramBytes = 40;  // Beyond those of a point
constexpr std::size_t kBucketBytes = 16;
constexpr std::size_t kLabelBytes = 12;

// Attributes and time of a point of either kind.
template <class Point>
void Fill(const ClientMetric& metric, WallTime now, Point& point) {
  point.set_time_unix_nano(UnixNanoseconds(now));
  for (const ClientMetric::Label& label : metric.label)
    AddText(label.name, label.value, *point.mutable_attributes());
}

// The buckets of Prometheus contain those before them; the last one has the bound infinity.
void FillHistogram(const ClientMetric::Histogram& histogram, wire::HistogramDataPoint& point) {
  std::uint64_t before = 0;
  for (const ClientMetric::Bucket& bucket : histogram.bucket) {
    if (std::isinf(bucket.upper_bound)) break;
    point.add_explicit_bounds(bucket.upper_bound);
    point.add_bucket_counts(bucket.cumulative_count - before);
    before = bucket.cumulative_count;
  }
  point.add_bucket_counts(histogram.sample_count - before);
  point.set_count(histogram.sample_count);
  point.set_sum(histogram.sample_sum);
}

void AddPoint(const ClientMetric& metric, MetricType type, WallTime start, WallTime now,
              wire::Metric& out) {
  if (type == MetricType::Histogram) {
    wire::HistogramDataPoint& point = *out.mutable_histogram()->add_data_points();
    Fill(metric, now, point);
    point.set_start_time_unix_nano(UnixNanoseconds(start));
    FillHistogram(metric.histogram, point);
  } else if (type == MetricType::Counter) {
    wire::NumberDataPoint& point = *out.mutable_sum()->add_data_points();
    Fill(metric, now, point);
    point.set_start_time_unix_nano(UnixNanoseconds(start));
    point.set_as_double(metric.counter.value);
  } else {
    wire::NumberDataPoint& point = *out.mutable_gauge()->add_data_points();
    Fill(metric, now, point);
    point.set_as_double(metric.gauge.value);
  }
}

// Bytes of a point that is to be added; no less than it has.
std::size_t BytesOf(const ClientMetric& metric) {
  std::size_t bytes = kPointBytes;
  if (!metric.histogram.bucket.empty())
    bytes += kHistogramBytes + kBucketBytes * metric.histogram.bucket.size();
  for (const ClientMetric::Label& label : metric.label)
    bytes += kLabelBytes + label.name.size() + label.value.size();
  return bytes;
}

// Fills requests one after the other.
class Writer {
 public:
  Writer(const Resource& resource, const MetricTimes& times, std::size_t bytes_max)
      : resource_(resource), times_(times), bytes_max_(bytes_max) {}

  void Add(const MetricFamily& family) {
    metric_ = nullptr;
    const std::size_t head = kFrameBytes + family.name.size() + family.help.size();
    const WallTime start =
        family.name.starts_with("process_") ? times_.process_started : times_.controller_started;
    for (const ClientMetric& metric : family.metric) {
      const std::size_t bytes = BytesOf(metric);
      if (requests_.empty() || bytes_ + bytes + (metric_ ? 0 : head) > bytes_max_) NextRequest();
      if (metric_ == nullptr) {
        metric_ = NewMetric(family);
        bytes_ += head;
      }
      bytes_ += bytes;
      AddPoint(metric, family.type, start, times_.now, *metric_);
    }
  }

  std::vector<MetricsRequest> Take() { return std::move(requests_); }

 private:
  void NextRequest() {
    metric_ = nullptr;
    auto& metrics = *requests_.emplace_back().add_resource_metrics();
    *metrics.mutable_resource() = resource_;
    AddScope(*metrics.add_scope_metrics()->mutable_scope());
    bytes_ = kFrameBytes + requests_.back().ByteSizeLong();
  }
  wire::Metric* NewMetric(const MetricFamily& family) {
    wire::Metric& metric =
        *requests_.back().mutable_resource_metrics(0)->mutable_scope_metrics(0)->add_metrics();
    metric.set_name(family.name);
    metric.set_description(family.help);
    if (family.type == MetricType::Histogram) {
      metric.mutable_histogram()->set_aggregation_temporality(
          wire::AGGREGATION_TEMPORALITY_CUMULATIVE);
    } else if (family.type == MetricType::Counter) {
      metric.mutable_sum()->set_aggregation_temporality(wire::AGGREGATION_TEMPORALITY_CUMULATIVE);
      metric.mutable_sum()->set_is_monotonic(true);
    }
    return &metric;
  }

  const Resource& resource_;
  const MetricTimes& times_;
  const std::size_t bytes_max_;
  std::vector<MetricsRequest> requests_;
  wire::Metric* metric_ = nullptr;  // The one of the family in the last request
  std::size_t bytes_ = 0;           // Of the last request, at most
};

}  // namespace

std::vector<MetricsRequest> MetricsRequests(const std::vector<MetricFamily>& families,
                                            const Resource& resource, const MetricTimes& times,
                                            std::size_t bytes_max) {
  Writer writer(resource, times, bytes_max);
  for (const MetricFamily& family : families) writer.Add(family);
  return writer.Take();
}

std::uint64_t PointsOf(const MetricsRequest& request) {
  int points = 0;
  for (const auto& resource : request.resource_metrics())
    for (const auto& scope : resource.scope_metrics())
      for (const wire::Metric& metric : scope.metrics())
        points += metric.gauge().data_points_size() + metric.sum().data_points_size() +
                  metric.histogram().data_points_size();
  return static_cast<std::uint64_t>(points);
}

}  // namespace fabric::otlp
