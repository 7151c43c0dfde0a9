#include "agents/probe/histogram.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace fabric::probe {
namespace {

constexpr Duration kMax = std::chrono::seconds(1000);
constexpr unsigned kBits = 7;
constexpr std::size_t kBuckets = std::size_t{1} << kBits;  // Of an octave
constexpr std::size_t kBucketsShown = 8;                   // Of an octave, in a summary
constexpr std::uint64_t kSamplesForP9999 = 10'000;

double Microseconds(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// Octave 0 holds values below kBuckets, one each; octave n those of kBuckets << (n - 1) on, in
// steps of 1 << (n - 1).
struct Place {
  std::size_t octave;
  std::size_t bucket;
};

Place PlaceOf(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kBits) return {.octave = 0, .bucket = static_cast<std::size_t>(value)};
  const unsigned octave = width - kBits;
  return {.octave = octave, .bucket = static_cast<std::size_t>(value >> (octave - 1)) - kBuckets};
}

// The first value that is above the bucket.
std::int64_t End(std::size_t octave, std::size_t bucket) {
  if (octave == 0) return static_cast<std::int64_t>(bucket) + 1;
  return static_cast<std::int64_t>((kBuckets + bucket + 1) << (octave - 1));
}

std::int64_t Width(std::size_t octave) {
  return octave == 0 ? 1 : std::int64_t{1} << (octave - 1);
}

}  // namespace

void Histogram::Add(Duration value) {
  value = std::clamp(value, Duration::zero(), kMax);
  const Place place = PlaceOf(static_cast<std::uint64_t>(value.count()));
  if (place.octave >= octaves_.size()) octaves_.resize(place.octave + 1);
  std::vector<std::uint32_t>& octave = octaves_[place.octave];
  if (octave.empty()) octave.resize(kBuckets);
  ++octave[place.bucket];
  ++samples_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  const double away = Microseconds(value) - mean_us_;
  mean_us_ += away / static_cast<double>(samples_);
  squares_ += away * (Microseconds(value) - mean_us_);
}

Duration Histogram::Percentile(double share) const {
  assert(samples_ > 0);
  const auto rank = std::clamp<std::uint64_t>(
      static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(samples_))), 1, samples_);
  std::uint64_t seen = 0;
  for (std::size_t octave = 0; octave < octaves_.size(); ++octave) {
    for (std::size_t bucket = 0; bucket < octaves_[octave].size(); ++bucket) {
      seen += octaves_[octave][bucket];
      if (seen < rank) continue;
      const std::int64_t middle = End(octave, bucket) - (Width(octave) + 1) / 2;
      return std::clamp(Duration(middle), min_, max_);
    }
  }
  return max_;
}

v1::LatencySummary Histogram::Summary() const {
  v1::LatencySummary summary;
  summary.set_min_us(Microseconds(min_));
  summary.set_median_us(Microseconds(Percentile(0.5)));
  summary.set_mean_us(mean_us_);
  summary.set_p99_us(Microseconds(Percentile(0.99)));
  summary.set_p999_us(Microseconds(Percentile(0.999)));
  if (samples_ >= kSamplesForP9999) summary.set_p9999_us(Microseconds(Percentile(0.9999)));
  summary.set_max_us(Microseconds(max_));
  summary.set_standard_deviation_us(std::sqrt(squares_ / static_cast<double>(samples_)));
  summary.set_samples(static_cast<std::uint32_t>(samples_));
  AddBuckets(summary);
  return summary;
}

void Histogram::AddBuckets(v1::LatencySummary& summary) const {
  constexpr std::size_t kStep = kBuckets / kBucketsShown;
  for (std::size_t octave = 0; octave < octaves_.size(); ++octave) {
    for (std::size_t first = 0; first < octaves_[octave].size(); first += kStep) {
      std::uint32_t samples = 0;
      for (std::size_t n = first; n < first + kStep; ++n) samples += octaves_[octave][n];
      if (samples == 0) continue;
      v1::LatencyBucket& bucket = *summary.add_histogram();
      bucket.set_upper_us(Microseconds(Duration(End(octave, first + kStep - 1) - 1)));
      bucket.set_samples(samples);
    }
  }
}

}  // namespace fabric::probe
