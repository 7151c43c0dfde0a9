// Durations by how often they came, in little memory whatever their number. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::probe {

// Log-linear: 128 buckets between a power of two and the next, so that a percentile is within 0.4 %
// of a value that was measured; minimum, maximum and mean are exact. A power of two takes memory
// when the first value falls into it, 512 bytes.
class Histogram {
 public:
  void Add(Duration value);  // Negative ones count as zero, above 1000 s as that.

  std::uint64_t samples() const { return samples_; }
  // By nearest rank: of the smallest value that has `share` of all at or below it. Of at least one
  // sample.
  Duration Percentile(double share) const;
  // Of at least one sample. Without `voided`.
  v1::LatencySummary Summary() const;

 private:
  void AddBuckets(v1::LatencySummary& summary) const;

  std::vector<std::vector<std::uint32_t>> octaves_;
  std::uint64_t samples_ = 0;
  Duration min_ = Duration::max();
  Duration max_ = Duration::min();
  double mean_us_ = 0;
  double squares_ = 0;  // Of distances from the mean (Welford)
};

}  // namespace fabric::probe
