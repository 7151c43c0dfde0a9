// Short campaign that resolves or confirms findings of rule probe_blame. Pure.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "fabric/v1/finding.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

struct RecheckPlan {
  v1::CampaignSpec spec;
  std::vector<std::string> findings;  // Ids of those that the campaign can decide
};

// The fleet as far as it matters here: names of nodes.
struct RecheckFleet {
  std::vector<std::string> connected;
  std::set<std::string> suspected;  // By located faults: partners only if too few others
  // The probe that showed the low bandwidth of a finding, by its id, if it is known. Without the
  // function: a probe of our own.
  std::function<std::optional<v1::ProbeSpec>(const std::string& finding)> bandwidth_probe = {};
};

// The ports of the first finding, and of others of its class of traffic as far as the campaign
// stays short, with partners, if possible those that are not suspected. Packets are enough to show
// the losses. Losses and low bandwidth are never in one campaign: the load of one disturbs the
// other. `findings`: at least one.
RecheckPlan PlanRecheck(std::span<const v1::Finding> findings, const RecheckFleet& fleet);

// Nodes of the part, of a pair both.
std::set<std::string> NodesOfLocated(const v1::Finding& finding);

}  // namespace fabric::control
