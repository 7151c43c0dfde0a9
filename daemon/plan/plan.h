// Who probes whom and when. Pure: the same fleet, spec and seed give the same plan.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet_view.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::plan {

struct PairTask {
  v1::ProbePort from;  // Initiator
  v1::ProbePort to;
};

struct Plan {
  // In a round no port takes part twice. Every pair of a rail occurs exactly once.
  std::vector<std::vector<PairTask>> rounds;
  std::vector<std::string> skipped;  // "n4/rxe0/1: port is DOWN"
};

// INVALID_ARGUMENT: an unknown node or rail is named. FAILED_PRECONDITION: nothing to probe at all.
// Ports that are not ACTIVE or have no usable GID are skipped, with the reason.
Result<Plan> MakePlan(const fleet::FleetView& fleet, const v1::CampaignSpec& spec);

}  // namespace fabric::plan
