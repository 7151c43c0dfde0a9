// Which ports answer at all, found before a campaign's rounds by one quick probe of each, so that
// what is dead costs seconds and not a timeout in every round. Pure.
//
// A port is left out once it has failed with three different partners that are good with others, or
// when its node's agent does not answer. The second partner is one under its leaf, where leaves are
// known: others may all lie behind one dead path. Whoever is not proven dead takes part.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/plan/plan.h"
#include "daemon/plan/random.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class Reachability {
 public:
  // Nothing is known, and nothing will be asked.
  Reachability() = default;
  // `plan` must outlive this.
  Reachability(const plan::Plan& plan, std::uint64_t seed);

  // A quick probe with the settings of `probe`.
  static v1::ProbeSpec QuickProbe(const v1::ProbeSpec& probe);

  // Pairs to probe next, no port twice; to be asked for when the results of those before are in.
  // Empty: over, and what is not known will stay so.
  std::vector<plan::Pair> NextStage();
  // False: results since then have made the probe needless.
  bool IsUseful(const plan::Pair& pair) const;
  void Take(const plan::Pair& pair, const v1::ProbeResult& result);
  // Of a round of the plan. A port that has kept three good partners waiting until their time was
  // over is left out from then on: what answers a quick probe may do no more than that. Where
  // nobody knows whose fault it was, only if it was good with nobody meanwhile: one of several
  // paths that is dead makes no port dead.
  void TakePlanned(const plan::Pair& pair, const v1::ProbeResult& result);

  bool IsOut(plan::PortIndex port) const;
  // The result that each probe of this port will have; absent: it takes part.
  std::optional<v1::ProbeResult> LeftOut(plan::PortIndex port) const;
  // "n3/mlx5_0/1: left out: ..." for each port that is.
  std::vector<std::string> LeftOut() const;

 private:
  struct Failure {
    plan::PortIndex partner;
    v1::ProbeResult result;
  };
  struct State {
    enum class Is { kUnknown, kGood, kAnswering, kOut };
    Is is = Is::kUnknown;
    bool late = false;  // It is out because of what it did in rounds.
    std::vector<Failure> failures;
    std::uint32_t group = 0;
  };

  void Blame(plan::PortIndex port, plan::PortIndex partner, const v1::ProbeResult& result);
  void GiveUp(const std::string& node, const v1::ProbeResult& result);
  bool NodeIsOut(plan::PortIndex port) const;
  void Judge();
  bool WantsNeighbor(plan::PortIndex port) const;
  bool PairUp(plan::PortIndex port, std::vector<plan::PortIndex>& free, bool near,
              std::vector<plan::Pair>& pairs) const;

  const plan::Plan* plan_ = nullptr;
  std::vector<State> ports_;
  std::map<std::uint32_t, std::vector<plan::PortIndex>> groups_;  // Who can reach each other
  std::map<std::string, int> undone_;  // Probes that an agent left undone, by node
  std::map<std::string, v1::ProbeResult> nodes_out_;
  plan::Random random_{0};
  int stage_ = 0;
};

}  // namespace fabric::control
