#include "daemon/control/campaigns/result_analyzer.h"

#include <utility>

namespace fabric::control {
namespace {

// Number of results that give reliable usual values; with fewer, all are compared again.
constexpr int kEqualsEnough = 1000;
// Number of assessments after each single round. By then a fault is usually located.
constexpr int kAskedEachRound = 24;
// About 100 bytes each; an assessment reads all. 100,000 are four rounds of 8,192 ports, and the
// newest show current faults. The oldest are dropped in batches, because that takes longer than an
// assessment.
constexpr std::size_t kObservationsMax = 150'000;
constexpr std::size_t kObservationsKept = 100'000;

}  // namespace

void ResultAnalyzer::Add(v1::PairResult result) {
  // Large and not used here
  if (result.result().has_latency()) result.mutable_result()->mutable_latency()->clear_histogram();
  ++results_;
  *fresh_.Add() = std::move(result);
}

void ResultAnalyzer::EndRound() {
  if (fresh_.size() < kEqualsEnough) return;
  blame_.Add(blame::ObservationsOf(fabric_, fresh_, baselines_));
  fresh_.Clear();
  if (blame_.size() > kObservationsMax) blame_.KeepNewest(kObservationsKept);
}

bool ResultAnalyzer::Due(bool each_round) const {
  if (results_ == asked_at_) return false;
  if (!each_round) return results_ >= 2 * asked_at_;  // The total cost stays proportional.
  return asked_ < kAskedEachRound || results_ >= asked_at_ + asked_at_ / 4;
}

blame::Assessment ResultAnalyzer::Assess(std::span<const std::uint32_t> usable,
                                         std::span<const v1::Finding> findings,
                                         std::span<const blame::PortCounters> counters) {
  asked_at_ = results_;
  ++asked_;
  if (fresh_.empty()) return blame_.Assess(usable, findings, counters);
  blame::Analyzer all = blame_;
  all.Add(blame::ObservationsOf(fabric_, fresh_, baselines_));
  return all.Assess(usable, findings, counters);
}

}  // namespace fabric::control
