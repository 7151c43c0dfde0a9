// How much of the fabric a plan may take at once, beyond what its rounds promise for ports. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/plan/plan.h"

namespace fabric::plan {

class Budget {
 public:
  // 0: no limit. `plan` must outlive this.
  Budget(const Plan& plan, std::uint32_t pairs_at_once, std::uint32_t pairs_per_uplink);

  // Whether the pair may run beside those that do; if so, it counts until it is given back.
  bool Take(const Pair& pair);
  void Give(const Pair& pair);

 private:
  // Leaves whose uplinks carry the pair: both or none.
  bool LeavesItsLeaf(const Pair& pair) const;
  bool HasRoom(PortIndex port) const;

  const Plan& plan_;
  const std::uint32_t pairs_at_once_;
  const std::uint32_t pairs_per_uplink_;
  std::uint32_t running_ = 0;
  std::vector<std::uint32_t> leaving_;  // By leaf
};

// The pairs of one round in parts that each keep the budget.
std::vector<std::vector<Pair>> Waves(const Plan& plan, const std::vector<Pair>& round,
                                     std::uint32_t pairs_at_once, std::uint32_t pairs_per_uplink);

}  // namespace fabric::plan
