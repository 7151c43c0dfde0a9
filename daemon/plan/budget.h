// Limits on concurrent probes: pairs in total and pairs per uplink of a leaf. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/plan/plan.h"

namespace fabric::plan {

class Budget {
 public:
  // 0: no limit. `plan` must outlive this.
  Budget(const Plan& plan, std::uint32_t pairs_at_once, std::uint32_t pairs_per_uplink);

  // True when the pair may start now; then it counts until Give().
  bool Take(const Pair& pair);
  void Give(const Pair& pair);

 private:
  // True when the pair uses the uplinks of both its leaves.
  bool LeavesItsLeaf(const Pair& pair) const;
  bool HasRoom(PortIndex port) const;

  const Plan& plan_;
  const std::uint32_t pairs_at_once_;
  const std::uint32_t pairs_per_uplink_;
  std::uint32_t running_ = 0;
  std::vector<std::uint32_t> leaving_;  // By leaf
};

// Splits the pairs of one round into waves that keep within the budget.
std::vector<std::vector<Pair>> Waves(const Plan& plan, const std::vector<Pair>& round,
                                     std::uint32_t pairs_at_once, std::uint32_t pairs_per_uplink);

}  // namespace fabric::plan
