// Analysis of a campaign's results by blame. Keeps the newest 100,000 to 150,000 results as compact
// observations. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "daemon/blame/analyzer.h"
#include "daemon/plan/plan.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class ResultAnalyzer {
 public:
  explicit ResultAnalyzer(blame::Fabric fabric) : fabric_(std::move(fabric)), blame_(fabric_) {}
  ResultAnalyzer(const ResultAnalyzer&) = delete;  // The analyzer refers to the fabric.
  ResultAnalyzer& operator=(const ResultAnalyzer&) = delete;

  void Add(v1::PairResult result);
  // Ends a round. Results of one kind are compared within a round, or within several small rounds;
  // few results are compared with the usual values of earlier ones.
  void EndRound();

  // True when enough new results justify the cost of Assess(). `each_round`: the campaign waits for
  // it, so fewer are enough.
  bool Due(bool each_round) const;
  blame::Assessment Assess(std::span<const std::uint32_t> usable,
                           std::span<const v1::Finding> findings,
                           std::span<const blame::PortCounters> counters);

  const blame::Fabric& fabric() const { return fabric_; }

 private:
  const blame::Fabric fabric_;
  google::protobuf::RepeatedPtrField<v1::PairResult> fresh_;  // Not in `blame_` yet
  blame::Baselines baselines_;
  blame::Analyzer blame_;
  std::size_t results_ = 0;
  std::size_t asked_at_ = 0;  // Of `results_`
  int asked_ = 0;             // Times
};

}  // namespace fabric::control
