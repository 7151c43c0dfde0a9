// Latency histogram in bounded memory. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// Log-linear: 128 buckets per power of two, so that a percentile is within 0.4 % of a measured
// value; minimum, maximum and mean are exact. Each power of two in use takes 512 bytes.
class Histogram {
 public:
  void Add(Duration value);  // Clamped to 0..1000 s

  std::uint64_t samples() const { return samples_; }
  // Nearest rank: the smallest value with at least `share` of all samples at or below it. Needs a
  // sample.
  Duration Percentile(double share) const;
  // Needs a sample. Without `voided`.
  v1::LatencySummary Summary() const;

 private:
  void AddBuckets(v1::LatencySummary& summary) const;

  std::vector<std::vector<std::uint32_t>> octaves_;
  std::uint64_t samples_ = 0;
  Duration min_ = Duration::max();
  Duration max_ = Duration::min();
  double mean_us_ = 0;
  double squares_ = 0;  // Squared distances from the mean (Welford)
};

}  // namespace fabric::probe
