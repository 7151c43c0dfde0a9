#include "daemon/plan/budget.h"

#include <utility>

namespace fabric::plan {

Budget::Budget(const Plan& plan, std::uint32_t pairs_at_once, std::uint32_t pairs_per_uplink)
    : plan_(plan), pairs_at_once_(pairs_at_once), pairs_per_uplink_(pairs_per_uplink) {
  if (pairs_per_uplink_ != 0) leaving_.resize(plan.leaf_names.size());
}

bool Budget::Take(const Pair& pair) {
  if (pairs_at_once_ != 0 && running_ >= pairs_at_once_) return false;
  const bool leaves = LeavesItsLeaf(pair);
  if (leaves && (!HasRoom(pair.from) || !HasRoom(pair.to))) return false;
  ++running_;
  if (leaves)
    for (const PortIndex port : {pair.from, pair.to})
      if (plan_.ports[port].leaf != kNoLeaf) ++leaving_[plan_.ports[port].leaf];
  return true;
}

void Budget::Give(const Pair& pair) {
  --running_;
  if (!LeavesItsLeaf(pair)) return;
  for (const PortIndex port : {pair.from, pair.to})
    if (plan_.ports[port].leaf != kNoLeaf) --leaving_[plan_.ports[port].leaf];
}

bool Budget::LeavesItsLeaf(const Pair& pair) const {
  return pairs_per_uplink_ != 0 && pair.from != pair.to &&
         plan_.ports[pair.from].leaf != plan_.ports[pair.to].leaf;
}

bool Budget::HasRoom(PortIndex port) const {
  const std::uint32_t leaf = plan_.ports[port].leaf;
  return leaf == kNoLeaf || leaving_[leaf] < pairs_per_uplink_;
}

std::vector<std::vector<Pair>> Waves(const Plan& plan, const std::vector<Pair>& round,
                                     std::uint32_t pairs_at_once, std::uint32_t pairs_per_uplink) {
  std::vector<std::vector<Pair>> waves;
  std::vector<Pair> left = round;
  while (!left.empty()) {
    Budget budget(plan, pairs_at_once, pairs_per_uplink);
    std::vector<Pair> later;
    std::vector<Pair>& wave = waves.emplace_back();
    for (const Pair& pair : left) (budget.Take(pair) ? wave : later).push_back(pair);
    left = std::move(later);
  }
  return waves;
}

}  // namespace fabric::plan
