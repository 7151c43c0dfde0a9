// Reachability pass: finds unreachable ports with quick probes before a campaign's rounds, so that
// they do not cost a timeout in each round. Pure.
//
// A port is left out after it has failed with three different partners that work with others, or
// when its node's agent does not answer. The second partner is under the same leaf, if leaves are
// known: other partners may all be behind one broken path. In doubt a port takes part.
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
  // No pass: all ports take part.
  Reachability() = default;
  // `plan` must outlive this.
  Reachability(const plan::Plan& plan, std::uint64_t seed);

  // A quick probe with the settings of `probe`.
  static v1::ProbeSpec QuickProbe(const v1::ProbeSpec& probe);

  // Pairs to probe next, each port once. Call it when the results of the previous stage are in.
  // Empty: the pass is over.
  std::vector<plan::Pair> NextStage();
  // False: results since then have made the probe needless.
  bool IsUseful(const plan::Pair& pair) const;
  void Take(const plan::Pair& pair, const v1::ProbeResult& result);
  // Takes a result of a round of the plan. A port that let three working partners time out is left
  // out from then on: it may answer quick probes only. If the fault could not be attributed, it is
  // left out only if no probe with it succeeded meanwhile: one broken path does not make a port
  // unreachable.
  void TakePlanned(const plan::Pair& pair, const v1::ProbeResult& result);

  bool IsOut(plan::PortIndex port) const;
  // The result of all probes of a port that is left out; absent: it takes part.
  std::optional<v1::ProbeResult> LeftOut(plan::PortIndex port) const;
  // Nodes that are left out because their agents did not answer, with the reason.
  const std::map<std::string, v1::ProbeResult>& NodesOut() const { return nodes_out_; }
  // Each node and port that is left out.
  std::vector<v1::CoverageGap> LeftOut() const;

 private:
  struct Failure {
    plan::PortIndex partner;
    v1::ProbeResult result;
  };
  struct State {
    enum class Is { kUnknown, kGood, kAnswering, kOut };
    Is is = Is::kUnknown;
    bool late = false;  // Left out because of timeouts in rounds
    std::vector<Failure> failures;
    std::uint32_t group = 0;
  };

  void Blame(plan::PortIndex port, plan::PortIndex partner, const v1::ProbeResult& result);
  void GiveUp(const std::string& node, const v1::ProbeResult& result);
  bool NodeIsOut(plan::PortIndex port) const;
  // Why the port is left out. IsOut() must hold.
  v1::CoverageGap GapOf(plan::PortIndex port) const;
  void Judge();
  bool WantsNeighbor(plan::PortIndex port) const;
  bool PairUp(plan::PortIndex port, std::vector<plan::PortIndex>& free, bool near,
              std::vector<plan::Pair>& pairs) const;

  const plan::Plan* plan_ = nullptr;
  std::vector<State> ports_;
  std::map<std::uint32_t, std::vector<plan::PortIndex>> groups_;  // Ports that can reach each other
  std::map<std::string, int> undone_;                             // Unfinished probes, by node
  std::map<std::string, v1::ProbeResult> nodes_out_;
  plan::Random random_{0};
  int stage_ = 0;
};

}  // namespace fabric::control
