// State of a running campaign, except what the API shows of it.
//
//   kReachability ──────────────► kBetweenRounds ◄──────────────────── pairs have ended ──┐
//     │      ▲    no more stages   │   │   │  └──── the plan's next round ──► kRound ─────┤
//     └──────┘                     │   │   └─ blame asks for pairs ──► kRound, ───────────┤
//    next stage                    │   │                               kQuickRound ───────┘
//                     decided, or  │   └─ blame asks for pairs later ──► kPaused
//                     nothing left ▼                                      │ then as above
//                                 end                                     ▼
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/blame/blame.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/campaigns/cross_rail.h"
#include "daemon/control/campaigns/incast.h"
#include "daemon/control/campaigns/port_counters.h"
#include "daemon/control/campaigns/progress.h"
#include "daemon/control/campaigns/reachability.h"
#include "daemon/control/campaigns/result_analyzer.h"
#include "daemon/control/probing/expectation_tally.h"
#include "daemon/control/probing/expectations.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/probing/probe_coverage.h"
#include "daemon/plan/budget.h"
#include "daemon/plan/plan.h"
#include "daemon/rules/probes/located.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

// What a campaign needs in addition to its spec.
struct CampaignInputs {
  plan::Plan plan;
  blame::Fabric fabric;                                    // Has the ports of the plan
  std::vector<v1::TrafficClass> classes = {};              // Of its probes, first that of the jobs
  Expectations expectations = {};                          // Limits of the results
  PortClasses port_classes = {};                           // Of the ports of an incast
  std::map<std::string, rules::Explained> explained = {};  // By port: see IsExplained()
  std::set<std::string> pairs = {};                        // For ProbeCoverage
  // At the end of the plan, continue until faults are located or no fault is suspected.
  bool settle = false;
};

// What blame is asked with, and its answer. Each is a step of its own, or several, because each
// takes long in a large campaign.
struct CampaignEnding {
  std::vector<v1::Finding> findings;
  std::string last_finding;  // Id of the last one that was read
  bool findings_done = false;
  CounterReader counters;
  std::optional<blame::Assessment> assessment;  // Complete
  std::vector<AffectedPorts> affected;          // Of the suspects; set with the answer
  bool located = false;
};

struct CampaignWork {
  enum class Phase {
    kReachability,   // Stages of quick probes: which ports answer
    kBetweenRounds,  // No pair waits or runs.
    kRound,          // A round of the plan, or one in addition
    kQuickRound,     // Quick probes of ports that are left out, in addition
    kPaused,         // The next pairs must not start before `postponed_until`.
    kEnding,         // All results are in; see CampaignEnding.
  };

  // `pairs_at_once` limits the number in the spec.
  CampaignWork(const v1::CampaignSpec& spec, CampaignInputs inputs, std::uint32_t pairs_at_once);
  CampaignWork(const CampaignWork&) = delete;  // Members refer to the plan.
  CampaignWork& operator=(const CampaignWork&) = delete;

  // Places that blame may ask for. Ports that are left out count: quick probes reach them. Nodes
  // that were late three times do not: further probes would show nothing new.
  std::vector<std::uint32_t> Usable() const;
  // The pairs that blame asks for and this campaign may probe.
  std::vector<plan::Pair> PairsOf(const std::vector<blame::ProbeRequest>& wanted) const;

  // Takes a result for the location of faults, for its class of traffic. Results that an open
  // finding explains accuse no other part, and are only counted.
  void Analyze(v1::PairResult result);
  void EndRound();
  // Adds to the report of the jobs' class what the other class and the absolute limits show.
  void Complete(v1::BlameReport& report, std::span<const v1::Finding> findings,
                std::span<const blame::PortCounters> counters);

  const plan::Plan plan;
  const std::vector<std::string> port_names;  // Of plan.ports
  const v1::ProbeSpec quick_probe;            // Of the reachability pass
  plan::Budget budget;
  Reachability reachability;
  const std::vector<v1::TrafficClass> traffic_classes;
  const Expectations expectations;
  ResultAnalyzer analyzer;                   // Results in the class of the jobs
  std::unique_ptr<ResultAnalyzer> compared;  // In the second class; nullptr: none
  const bool settle;
  ExpectationTally tally;
  CrossRailResults cross_rail;
  ProbeCoverage coverage;           // In the class of the jobs
  ProbeCoverage compared_coverage;  // In the second class
  Progress progress;

  Phase phase;
  std::uint32_t stage = 0;                    // Of quick probes
  std::size_t planned_begun = 0;              // Rounds of the plan
  std::uint32_t rounds_begun = 0;             // Including additional ones
  std::uint32_t additional_rounds = 0;        // Requested by blame
  std::map<std::string, std::uint32_t> late;  // Probes that timed out because of it, by node
  std::deque<plan::Pair> waiting;             // Of the current round or stage
  std::vector<plan::Pair> postponed;          // The next pairs, in kPaused
  SteadyTime postponed_until = {};
  std::uint32_t pairs_running = 0;
  SteadyTime stored_at = {};  // The summary, at the start of a round
  // Of the ports, for the next time that blame is asked between rounds
  std::optional<CounterReader> port_counters;
  // Of blame, which was asked. No result is taken meanwhile: the analyzer is in use.
  std::packaged_task<blame::Assessment()> question;
  std::future<blame::Assessment> answer;
  std::optional<CampaignEnding> ending;  // In kEnding: so far
  PortClasses classes;                   // Of the pattern INCAST
  std::unique_ptr<Incast> incast;        // Of the current round

  // Whether the waiting pairs are quick probes.
  bool quick() const { return phase == Phase::kReachability || phase == Phase::kQuickRound; }

 private:
  bool IsTooLate(const std::string& node) const;
  bool IsCompared(const v1::PairResult& result) const;
  bool IsExplained(const v1::PairResult& result) const;
  void AddStalledHosts(v1::BlameReport& report) const;

  std::vector<std::optional<std::uint32_t>> places_;   // In the fabric, of plan.ports
  std::map<std::string, rules::Explained> explained_;  // By port
  std::uint32_t explained_count_ = 0;                  // Results
};

// The result of a probe without the outcome.
v1::PairResult ResultOf(const plan::PairTask& task, std::uint32_t round, const v1::ProbeSpec& probe,
                        Moment started, Moment ended);

}  // namespace fabric::control
