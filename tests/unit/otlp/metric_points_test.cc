#include "daemon/otlp/metric_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "daemon/otlp/attributes.h"

namespace fabric::otlp {
namespace {

using namespace std::chrono_literals;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kNoBound = 1 << 20;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const MetricTimes kTimes{
    .process_started = WallTime(100s), .controller_started = WallTime(200s), .now = WallTime(300s)};

MetricFamily FamilyOf(const std::string& name, MetricType type, ClientMetric metric) {
  MetricFamily family;
  family.name = name;
  family.help = "Help of " + name;
  family.type = type;
  family.metric = {std::move(metric)};
  return family;
}

ClientMetric Counter(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  metric.gauge.value = value;
  return metric;
}

// The only metric of the only request.
opentelemetry::proto::metrics::v1::Metric Converted(const MetricFamily& family) {
  const auto requests = MetricsRequests({family}, {}, kTimes, kNoBound);
  EXPECT_THAT(requests, SizeIs(1));
  return requests.at(0).resource_metrics(0).scope_metrics(0).metrics(0);
}

TEST(MetricsRequests, ACounterIsACumulativeMonotonicSumSinceTheStart) {
  const auto metric = Converted(FamilyOf("fabric_store_failures_total", MetricType::Counter,
                                         Counter(7, {{"signal", "logs"}})));
  EXPECT_EQ(metric.name(), "fabric_store_failures_total");
  EXPECT_EQ(metric.description(), "Help of fabric_store_failures_total");
  EXPECT_TRUE(metric.sum().is_monotonic());
  EXPECT_EQ(metric.sum().aggregation_temporality(),
            opentelemetry::proto::metrics::v1::AGGREGATION_TEMPORALITY_CUMULATIVE);
  ASSERT_THAT(metric.sum().data_points(), SizeIs(1));
  const auto& point = metric.sum().data_points(0);
  EXPECT_EQ(point.as_double(), 7);
  EXPECT_EQ(point.start_time_unix_nano(), 200'000'000'000U);
  EXPECT_EQ(point.time_unix_nano(), 300'000'000'000U);
  ASSERT_THAT(point.attributes(), SizeIs(1));
  EXPECT_EQ(point.attributes(0).key(), "signal");
  EXPECT_EQ(point.attributes(0).value().string_value(), "logs");
}

TEST(MetricsRequests, CountersOfTheProcessStartWithTheProcess) {
  const auto metric =
      Converted(FamilyOf("process_cpu_seconds_total", MetricType::Counter, Counter(1)));
  EXPECT_EQ(metric.sum().data_points(0).start_time_unix_nano(), 100'000'000'000U);
}

TEST(MetricsRequests, AGaugeHasNoStart) {
  const auto metric = Converted(FamilyOf("fabric_nodes", MetricType::Gauge, Counter(-3.5)));
  ASSERT_TRUE(metric.has_gauge());
  EXPECT_EQ(metric.gauge().data_points(0).as_double(), -3.5);
  EXPECT_EQ(metric.gauge().data_points(0).start_time_unix_nano(), 0U);
}

TEST(MetricsRequests, ZeroIsAValue) {
  const auto metric = Converted(FamilyOf("fabric_nodes", MetricType::Gauge, Counter(0)));
  EXPECT_EQ(metric.gauge().data_points(0).value_case(),
            opentelemetry::proto::metrics::v1::NumberDataPoint::kAsDouble);
}

struct HistogramCase {
  std::string name;
  std::vector<ClientMetric::Bucket> buckets;  // Of Prometheus: each contains those before it
  std::uint64_t count;
  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;
};

class HistogramTest : public ::testing::TestWithParam<HistogramCase> {};

TEST_P(HistogramTest, BucketsDoNotContainEachOther) {
  ClientMetric metric;
  metric.histogram.bucket = GetParam().buckets;
  metric.histogram.sample_count = GetParam().count;
  metric.histogram.sample_sum = 2.5;
  const auto converted = Converted(FamilyOf("h", MetricType::Histogram, metric));
  ASSERT_TRUE(converted.has_histogram());
  const auto& point = converted.histogram().data_points(0);
  EXPECT_THAT(std::vector(point.explicit_bounds().begin(), point.explicit_bounds().end()),
              GetParam().bounds);
  EXPECT_THAT(
      std::vector<std::uint64_t>(point.bucket_counts().begin(), point.bucket_counts().end()),
      GetParam().counts);
  EXPECT_EQ(point.count(), GetParam().count);
  EXPECT_EQ(point.sum(), 2.5);
  EXPECT_EQ(point.start_time_unix_nano(), 200'000'000'000U);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HistogramTest,
    ::testing::Values(
        HistogramCase{"Usual", {{1, 0.1}, {3, 1}, {7, kInfinity}}, 7, {0.1, 1}, {1, 2, 4}},
        HistogramCase{"Empty", {{0, 0.1}, {0, 1}, {0, kInfinity}}, 0, {0.1, 1}, {0, 0, 0}},
        HistogramCase{"AllInTheFirst", {{5, 0.1}, {5, 1}, {5, kInfinity}}, 5, {0.1, 1}, {5, 0, 0}},
        HistogramCase{"WithoutInfinity", {{2, 0.1}, {4, 1}}, 9, {0.1, 1}, {2, 2, 5}},
        HistogramCase{"OnlyInfinity", {{4, kInfinity}}, 4, {}, {4}}),
    [](const auto& one) { return one.param.name; });

TEST(MetricsRequests, EachRequestHasTheResourceAndAtMostTheBytes) {
  Resource resource;
  AddText("service.name", "fabricd", *resource.mutable_attributes());
  MetricFamily family = FamilyOf("fabric_node_connected", MetricType::Gauge, Counter(1));
  family.metric.clear();
  for (int i = 0; i < 1000; ++i)
    family.metric.push_back(Counter(i, {{"node", "n" + std::to_string(i)}}));
  MetricFamily histograms = FamilyOf("h", MetricType::Histogram, {});
  histograms.metric.clear();
  for (int i = 0; i < 300; ++i) {
    ClientMetric metric;
    metric.label = {{"method", "m" + std::to_string(i)}};
    for (int b = 0; b < 20; ++b)
      metric.histogram.bucket.push_back({static_cast<std::uint64_t>(b), b / 10.0});
    metric.histogram.sample_count = 19;
    histograms.metric.push_back(metric);
  }
  constexpr std::size_t kBytes = 8000;
  const auto requests = MetricsRequests({family, histograms}, resource, kTimes, kBytes);
  std::uint64_t points = 0;
  double next = 0;
  for (const MetricsRequest& request : requests) {
    EXPECT_LE(request.ByteSizeLong(), kBytes);
    EXPECT_EQ(request.resource_metrics(0).resource().attributes(0).key(), "service.name");
    EXPECT_EQ(request.resource_metrics(0).scope_metrics(0).scope().name(), "fabricd");
    for (const auto& metric : request.resource_metrics(0).scope_metrics(0).metrics()) {
      EXPECT_FALSE(metric.name().empty());
      for (const auto& point : metric.gauge().data_points()) EXPECT_EQ(point.as_double(), next++);
    }
    points += PointsOf(request);
  }
  EXPECT_EQ(points, 1300U);
  EXPECT_GT(requests.size(), 10U);
  std::size_t bytes = 0;
  for (const MetricsRequest& request : requests) bytes += request.ByteSizeLong();
  EXPECT_GT(bytes, requests.size() * kBytes * 7 / 10) << "requests are filled";
}

TEST(MetricsRequests, NothingHasNoRequest) {
  EXPECT_THAT(MetricsRequests({}, {}, kTimes, kNoBound), IsEmpty());
}

}  // namespace
}  // namespace fabric::otlp
