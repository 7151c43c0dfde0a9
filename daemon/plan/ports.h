// The ports of a fleet that a plan may use. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "daemon/plan/plan.h"

namespace fabric::plan {

// A port that the plan leaves out.
struct SkippedPort {
  std::string port;  // "n4/rxe0/1"
  std::string reason;
};

struct Candidates {
  std::vector<Port> ports;  // By rail, then by node
  std::vector<std::string> leaf_names;
  std::vector<std::string> pod_names;
  std::vector<SkippedPort> skipped;
};

// INVALID_ARGUMENT: an unknown node or rail is named.
Result<Candidates> FindPorts(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                             const std::set<std::string>& probed_lately, const fleet::Sites& sites);

}  // namespace fabric::plan
