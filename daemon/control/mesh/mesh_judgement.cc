#include "daemon/control/mesh/mesh_judgement.h"

#include <algorithm>
#include <utility>

#include "daemon/blame/blame.h"
#include "daemon/control/campaigns/class_comparison.h"

namespace fabric::control {
namespace {

// Maximum number of observations of pairs with loss and of others for blame, which takes about 4 us
// for each.
constexpr std::size_t kMeshObservationsMax = 10'000;
constexpr std::size_t kPairsCountedOfTurn = 32'768;
constexpr std::size_t kPairsCollectedOfTurn = 4'096;

}  // namespace

bool MeshJudgement::Count(std::span<const MeshCounts> counts) {
  const std::size_t end = std::min(counts.size(), counted_ + kPairsCountedOfTurn);
  for (; counted_ < end; ++counted_) {
    const MeshCounts& pair = counts[counted_];
    if (pair.lost() > 0)
      lossy_ += std::max<std::size_t>(MeshCounts::kWindowsMax, pair.flows_kept());
    else
      ++clean_;
  }
  if (counted_ < counts.size()) return true;
  sums_.reserve(counts.size());
  return false;
}

// Results for blame: pairs with loss, with each of their flows, and other pairs for comparison,
// both up to a maximum and spread over the fabric.
bool MeshJudgement::Collect(std::span<const MeshCounts> counts) {
  const std::size_t end = std::min(counts.size(), sums_.size() + kPairsCollectedOfTurn);
  for (std::size_t n = sums_.size(); n < end; ++n) {
    sums_.push_back(counts[n].Sum());
    const bool bad = counts[n].lost() > 0;
    const std::size_t stride = (bad ? lossy_ : clean_) / kMeshObservationsMax + 1;
    if ((bad ? seen_lossy_ : seen_clean_)++ % stride != 0) continue;
    const plan::MeshPlan& plan = layout_.plan;
    const plan::MeshPair& pair = plan.pairs[n];
    const plan::MeshLeafPair& leaves = plan.leaf_pairs[pair.leaf_pair];
    counts[n].AddTo(plan.ports[pair.ports.from].port, plan.ports[pair.ports.to].port,
                    leaves.from_leaf != leaves.to_leaf, results_);
  }
  return sums_.size() < counts.size();
}

void MeshJudgement::Ask(const v1::TrafficClass& traffic_class, std::set<std::string> pairs) {
  answer.report =
      blame::Judge(layout_.fabric, blame::ObservationsOf(layout_.fabric, results_), findings);
  answer.report.clear_not_covered();  // The status of the mesh has them, with reasons.
  NameClasses({traffic_class}, {}, answer.report);
  answer.coverage = ProbeCoverage(std::move(pairs));
  for (const v1::PairResult& result : results_) answer.coverage.Take(result);
  answer.affected = AffectedBy(answer.report, layout_.fabric);
  answer.leaf_pairs = SumsOf(layout_.plan, sums_);
  answer.numbers = NumbersOf(answer.leaf_pairs);
}

}  // namespace fabric::control
