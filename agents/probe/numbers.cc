#include "agents/probe/numbers.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/text.h"

namespace fabric::probe {
namespace {

constexpr std::uint32_t kTimeoutMinMs = 10;
constexpr std::uint32_t kTimeoutMaxMs = 600'000;

double Microseconds(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

// `samples` is sorted; the rank is the smallest that has `share` of all samples at or below it.
double Percentile(const std::vector<Duration>& samples, double share) {
  const auto rank =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
  return Microseconds(samples[std::clamp<std::size_t>(rank, 1, samples.size()) - 1]);
}

}  // namespace

Status CheckBound(const Bound& bound) {
  if (bound.value >= bound.min && bound.value <= bound.max) return {};
  return {Code::kInvalidArgument,
          Format("{}: expected {} to {}, saw {}", bound.field, bound.min, bound.max, bound.value)};
}

Status CheckCommon(const v1::ProbeSpec& spec) {
  RETURN_IF_ERROR(CheckBound({"timeout_ms", TimeoutMs(spec), kTimeoutMinMs, kTimeoutMaxMs}));
  return CheckBound({"traffic_class", spec.traffic_class(), 0, 255});
}

std::uint32_t TimeoutMs(const v1::ProbeSpec& spec) {
  return spec.timeout_ms() == 0 ? kTimeoutDefaultMs : spec.timeout_ms();
}

v1::LatencySummary Summarize(std::vector<Duration> samples) {
  assert(!samples.empty());
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  double sum = 0;
  for (const Duration sample : samples) sum += Microseconds(sample);
  const double mean = sum / count;
  double squares = 0;
  for (const Duration sample : samples) squares += std::pow(Microseconds(sample) - mean, 2);
  v1::LatencySummary summary;
  summary.set_min_us(Microseconds(samples.front()));
  summary.set_median_us(Percentile(samples, 0.5));
  summary.set_mean_us(mean);
  summary.set_p99_us(Percentile(samples, 0.99));
  summary.set_p999_us(Percentile(samples, 0.999));
  summary.set_max_us(Microseconds(samples.back()));
  summary.set_standard_deviation_us(std::sqrt(squares / count));
  summary.set_samples(static_cast<std::uint32_t>(samples.size()));
  return summary;
}

}  // namespace fabric::probe
