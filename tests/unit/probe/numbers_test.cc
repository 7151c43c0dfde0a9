#include "agents/probe/numbers.h"

#include <gtest/gtest.h>

#include "agents/probe/probe.h"
#include "proto/json.h"

namespace fabric::probe {
namespace {

using std::chrono::microseconds;

TEST(Summarize, TakesPercentilesByNearestRankOfUnsortedSamples) {
  std::vector<Duration> samples;
  for (int i = 1000; i >= 1; --i) samples.push_back(microseconds(i));

  const v1::LatencySummary summary = Summarize(samples);

  EXPECT_EQ(summary.min_us(), 1);
  EXPECT_EQ(summary.median_us(), 500);
  EXPECT_EQ(summary.mean_us(), 500.5);
  EXPECT_EQ(summary.p99_us(), 990);
  EXPECT_EQ(summary.p999_us(), 999);
  EXPECT_EQ(summary.max_us(), 1000);
  EXPECT_NEAR(summary.standard_deviation_us(), 288.675, 0.001);
  EXPECT_EQ(summary.samples(), 1000u);
}

TEST(Summarize, OneSampleIsEverything) {
  const v1::LatencySummary summary = Summarize({microseconds(7)});
  EXPECT_EQ(summary.min_us(), 7);
  EXPECT_EQ(summary.median_us(), 7);
  EXPECT_EQ(summary.p999_us(), 7);
  EXPECT_EQ(summary.standard_deviation_us(), 0);
}

struct BoundCase {
  const char* spec;
  const char* error;  // Empty: fine
};

class Bounds : public ::testing::TestWithParam<BoundCase> {};

TEST_P(Bounds, AreCheckedWithTheFieldAndTheNumbers) {
  v1::ProbeSpec spec;
  ASSERT_TRUE(FromJson(GetParam().spec, spec).ok());
  const std::string_view name =
      spec.has_rc_write_latency() ? "rc_write_latency" : "rc_write_bandwidth";
  EXPECT_EQ(FindProbeKind(name)->check(spec).message(), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Specs, Bounds,
    ::testing::Values(BoundCase{R"({"rc_write_latency": {}})", ""},
                      BoundCase{R"({"rc_write_bandwidth": {}})", ""},
                      BoundCase{R"({"rc_write_latency": {"message_bytes": 1048577}})",
                                "message_bytes: expected 0 to 1048576, saw 1048577"},
                      BoundCase{R"({"rc_write_latency": {"iterations": 4294967295}})",
                                "iterations: expected 0 to 1000000, saw 4294967295"},
                      BoundCase{R"({"rc_write_latency": {"warmup_iterations": 1000001}})",
                                "warmup_iterations: expected 0 to 1000000, saw 1000001"},
                      BoundCase{R"({"rc_write_bandwidth": {"message_bytes": 8388609}})",
                                "message_bytes: expected 0 to 8388608, saw 8388609"},
                      BoundCase{R"({"rc_write_bandwidth": {"queue_depth": 5000}})",
                                "queue_depth: expected 0 to 4096, saw 5000"},
                      BoundCase{R"({"rc_write_bandwidth": {}, "timeout_ms": 1})",
                                "timeout_ms: expected 10 to 600000, saw 1"},
                      BoundCase{R"({"rc_write_latency": {}, "traffic_class": 256})",
                                "traffic_class: expected 0 to 255, saw 256"}));

}  // namespace
}  // namespace fabric::probe
