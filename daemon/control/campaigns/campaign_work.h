// What a campaign needs while it runs, beyond what is told of it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/campaigns/incast.h"
#include "daemon/control/campaigns/progress.h"
#include "daemon/control/campaigns/reachability.h"
#include "daemon/control/campaigns/result_analyzer.h"
#include "daemon/plan/budget.h"
#include "daemon/plan/plan.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

struct CampaignWork {
  // At most `pairs_at_once` run, whatever the spec says.
  CampaignWork(const v1::CampaignSpec& spec, plan::Plan made, blame::Fabric fabric,
               std::uint32_t pairs_at_once);
  CampaignWork(const CampaignWork&) = delete;  // What is below refers to the plan.
  CampaignWork& operator=(const CampaignWork&) = delete;

  // Places that may take part, as blame counts them. What is left out may, in quick probes, but not
  // a node that was late three times: no more would be learnt of it.
  std::vector<std::uint32_t> Usable() const;
  // The pairs among those that blame wants which this campaign may probe.
  std::vector<plan::Pair> PairsOf(const std::vector<blame::Wanted>& wanted) const;

  const plan::Plan plan;
  const std::vector<std::string> port_names;  // Of plan.ports
  const v1::ProbeSpec quick_probe;            // Of the reachability pass
  plan::Budget budget;
  Reachability reachability;
  ResultAnalyzer analyzer;
  Progress progress;

  std::uint32_t stage = 0;  // Of quick probes
  bool reaching = false;    // In the reachability pass
  bool quick = false;       // What waits are quick probes: of that pass, or of what is left out.
  bool in_round = false;    // Of the plan or in addition
  std::size_t planned_begun = 0;   // Rounds of the plan
  std::uint32_t rounds_begun = 0;  // With those in addition
  std::uint32_t deciding_rounds = 0;
  std::map<std::string, std::uint32_t> late;  // Probes that were not done for it, by node
  std::deque<plan::Pair> waiting;             // Of the current round
  std::vector<plan::Pair> postponed;          // A round that blame wants, but not before then
  SteadyTime postponed_until = {};
  std::uint32_t pairs_running = 0;
  PortClasses classes;             // Of the pattern INCAST
  std::unique_ptr<Incast> incast;  // The one of the current round

 private:
  bool IsTooLate(const std::string& node) const;

  std::vector<std::optional<std::uint32_t>> places_;  // In the fabric, of plan.ports
};

// What is known of a result before the probe has said anything.
v1::PairResult ResultOf(const plan::PairTask& task, std::uint32_t round, const v1::ProbeSpec& probe,
                        Moment started, Moment ended);

}  // namespace fabric::control
