#include "daemon/api/metrics_durations.h"

#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace fabric::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using Labels = std::vector<ClientMetric::Label>;

void AddDurations(Labels labels, const control::DurationCounts& durations, MetricFamily& family) {
  constexpr auto& kBounds = control::DurationCounts::kBounds;
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < durations.buckets.size(); ++i) {
    count += durations.buckets[i];
    const double bound = i < kBounds.size() ? kBounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({count, bound});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = durations.sum_seconds;
}

Labels TurnLabels(control::TurnKind kind) {
  return {{"kind", std::string(control::TurnKindName(kind))}};
}

void AddLongest(control::TurnKind kind, Duration ever, Duration of_minute, MetricFamily& family) {
  const auto add = [&](const char* since, Duration longest) {
    Labels labels = TurnLabels(kind);
    labels.push_back({"since", since});
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    metric.gauge.value = std::chrono::duration<double>(longest).count();
  };
  add("start", ever);
  add("minute", of_minute);
}

}  // namespace

void RequestDurations(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [key, durations] : input.calls.durations)
    AddDurations({{"method", key.first}, {"transport", key.second}}, durations, family);
}

void TurnLengths(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [kind, turns] : input.turns)
    AddDurations(TurnLabels(kind), turns.lengths, family);
}

void TurnWaits(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [kind, turns] : input.turns)
    AddDurations(TurnLabels(kind), turns.waited, family);
}

void LongestTurns(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [kind, turns] : input.turns)
    AddLongest(kind, turns.longest, turns.longest_of_minute, family);
}

void LongestWaits(const MetricsInput& input, MetricFamily& family) {
  for (const auto& [kind, turns] : input.turns)
    AddLongest(kind, turns.longest_wait, turns.longest_wait_of_minute, family);
}

}  // namespace fabric::api
