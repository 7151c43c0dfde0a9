#include "agents/probe/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace fabric::probe {
namespace {

using std::chrono::microseconds;

TEST(Histogram, PercentilesAreWithinAPartInTwoHundredOfTheNearestRank) {
  Histogram histogram;
  for (int i = 1000; i >= 1; --i) histogram.Add(microseconds(i));
  const v1::LatencySummary summary = histogram.Summary();
  EXPECT_EQ(summary.min_us(), 1);
  EXPECT_NEAR(summary.median_us(), 500, 500 * 0.004);
  EXPECT_NEAR(summary.mean_us(), 500.5, 1e-6);
  EXPECT_NEAR(summary.p99_us(), 990, 990 * 0.004);
  EXPECT_NEAR(summary.p999_us(), 999, 999 * 0.004);
  EXPECT_EQ(summary.max_us(), 1000);
  EXPECT_NEAR(summary.standard_deviation_us(), 288.675, 0.001);
  EXPECT_EQ(summary.samples(), 1000u);
  EXPECT_FALSE(summary.has_p9999_us());
}

TEST(Histogram, OneSampleIsEverything) {
  Histogram histogram;
  histogram.Add(Duration(7'777'777));
  const v1::LatencySummary summary = histogram.Summary();
  EXPECT_EQ(summary.min_us(), 7777.777);
  EXPECT_EQ(summary.median_us(), 7777.777);
  EXPECT_EQ(summary.p999_us(), 7777.777);
  EXPECT_EQ(summary.standard_deviation_us(), 0);
}

TEST(Histogram, TheTailOfTenThousandIsTold) {
  Histogram histogram;
  for (int i = 0; i < 9999; ++i) histogram.Add(microseconds(2));
  histogram.Add(microseconds(900));
  histogram.Add(microseconds(1000));
  EXPECT_NEAR(histogram.Summary().p9999_us(), 900, 4);
}

// Against the exact nearest rank, over all magnitudes.
TEST(Histogram, EveryPercentileOfAnyValuesIsNear) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    Histogram histogram;
    std::vector<Duration> values(1 + random() % 2000);
    for (Duration& value : values) {
      value = Duration(static_cast<std::int64_t>(random() >> (25 + random() % 38)));
      histogram.Add(value);
    }
    std::sort(values.begin(), values.end());
    for (const double share : {0.01, 0.5, 0.9, 0.999}) {
      const auto rank =
          static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
      const auto exact = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1].count());
      EXPECT_NEAR(static_cast<double>(histogram.Percentile(share).count()), exact,
                  exact * 0.004 + 1);
    }
  }
}

TEST(Histogram, ItsBucketsRiseAndHoldAllSamples) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.Add(microseconds(1 + i * i));
  histogram.Add(-microseconds(1));       // Zero
  histogram.Add(std::chrono::hours(1));  // As the largest
  const v1::LatencySummary summary = histogram.Summary();
  double before = -1;
  std::uint32_t samples = 0;
  for (const v1::LatencyBucket& bucket : summary.histogram()) {
    EXPECT_GT(bucket.upper_us(), before);
    EXPECT_GT(bucket.samples(), 0u);
    before = bucket.upper_us();
    samples += bucket.samples();
  }
  EXPECT_EQ(samples, 102u);
  EXPECT_GE(before, summary.max_us());
  EXPECT_LT(summary.histogram_size(), 110);
}

}  // namespace
}  // namespace fabric::probe
