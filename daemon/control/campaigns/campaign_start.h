// Start of a campaign in short turns: checks the spec, reads the fleet some nodes at a time, plans
// without the state, and starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/blame/fabric.h"
#include "daemon/control/campaigns/campaign_work.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/campaigns/incast.h"
#include "daemon/control/probing/expectations.h"
#include "daemon/control/probing/explaining_findings.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/plan/ports.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class StateTurns;
struct State;

// Call in this order; the first failure ends it:
//
//   Begin ──► Gather, until false ──► Plan, without the state ──► Start
//
// Nodes that change in between are probed as they were; probes of lost ones fail with the reason.
class CampaignStart {
 public:
  CampaignStart(v1::CampaignSpec spec, CampaignOrigin origin)
      : spec_(std::move(spec)), origin_(std::move(origin)) {}

  Status Begin(State& state, Moment now);
  // True: there is more to read.
  bool Gather(State& state);
  Status Plan();
  Result<v1::Campaign> Start(State& state, Moment now);

 private:
  struct Gathered {
    plan::PortFinder ports;
    blame::FabricBuilder fabric;
    Expectations expectations = {};
    PortClasses port_classes = {};  // Of an incast
    std::vector<v1::TrafficClass> classes = {};
    ExplainingFindings explaining = {};
    bool findings_done = false;
    std::set<std::string> pairs = {};
  };

  Status CheckSpec(State& state);
  void FindNodes(const State& state);
  void BeginGathering(State& state);
  void Add(const State& state, const std::string& node, fleet::ExpectationTable& expectations);

  v1::CampaignSpec spec_;
  const CampaignOrigin origin_;
  Moment began_;
  std::vector<std::string> nodes_;  // To read
  std::size_t next_node_ = 0;
  std::vector<v1::CoverageGap> lost_;  // Nodes that are not probed
  std::uint32_t pairs_at_once_ = 1;
  std::optional<Gathered> gathered_;
  std::unique_ptr<CampaignWork> work_;
};

// All of it in one turn, for few nodes.
Result<v1::Campaign> StartAtOnce(State& state, CampaignStart start, Moment now);
// All of it.
Result<v1::Campaign> StartInTurns(const StateTurns& turns, CampaignStart start, Moment now);

}  // namespace fabric::control
