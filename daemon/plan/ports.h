// Selection of the ports that can be probed. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "daemon/plan/plan.h"

namespace fabric::plan {

struct Candidates {
  std::vector<Port> ports;  // By rail, then by node
  std::vector<std::string> leaf_names;
  std::vector<std::string> pod_names;
  std::vector<v1::CoverageGap> skipped;
};

// INVALID_ARGUMENT: unknown node or rail.
Result<Candidates> FindPorts(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                             const std::set<std::string>& probed_lately, const fleet::Sites& sites);

}  // namespace fabric::plan
