// What a campaign's results say so far of the fabric: holds the newest 100,000 as observations,
// which are small, and asks blame. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/blame/blame.h"
#include "daemon/plan/plan.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class Judgement {
 public:
  Judgement() = default;
  explicit Judgement(blame::Fabric fabric) : fabric_(std::move(fabric)) {}

  void Add(v1::PairResult result);
  // A round is over: what came in it has its equals now. Results of one kind and one round, or of
  // several small ones, are compared with each other.
  void EndRound();

  // Whether so much has come since it was asked last that the answer is worth its cost, which grows
  // with all that has come.
  // `each_round`: something waits for it, so that it is worth more.
  bool Due(bool each_round) const;
  blame::Standing Stand(std::span<const std::uint32_t> usable,
                        std::span<const v1::Finding> findings);

  const blame::Fabric& fabric() const { return fabric_; }

 private:
  blame::Fabric fabric_;
  google::protobuf::RepeatedPtrField<v1::PairResult> fresh_;  // Not in `observations_` yet
  std::vector<blame::Observation> observations_;
  std::size_t results_ = 0;
  std::size_t asked_at_ = 0;  // Of `results_`
  int asked_ = 0;             // Times
};

}  // namespace fabric::control
