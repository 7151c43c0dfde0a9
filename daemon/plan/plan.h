// Who probes whom and when. Pure: the same fleet, spec and seed give the same plan.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/fleet/sites.h"
#include "daemon/plan/rounds.h"
#include "fabric/v1/probe.pb.h"
#include "proto/ports.h"

namespace fabric::plan {

// Index in Plan::leaf_names.
using LeafIndex = std::uint32_t;
inline constexpr LeafIndex kNoLeaf = std::numeric_limits<LeafIndex>::max();
// Index in Plan::pod_names.
using PodIndex = std::uint32_t;
inline constexpr PodIndex kNoPod = std::numeric_limits<PodIndex>::max();

// A port that can be probed.
struct Port {
  v1::ProbePort port;
  // Only ports of one network can reach each other: InfiniBand and Ethernet cannot.
  v1::LinkLayer network = v1::LINK_LAYER_UNSPECIFIED;
  LeafIndex leaf = kNoLeaf;  // The switch that it is connected to, when that is known
  PodIndex pod = kNoPod;     // That the profile says the port is in
};

struct PairTask {
  v1::ProbePort from;  // Initiator
  v1::ProbePort to;
};

struct Plan {
  std::vector<Port> ports;  // By rail, then by node
  std::vector<std::string> leaf_names;
  std::vector<std::string> pod_names;
  // Of indices in `ports`. In a round no port takes part twice, but the receiver of an incast; no
  // pair occurs twice.
  Rounds rounds;
  std::vector<std::string> skipped;  // "n4/rxe0/1: port is DOWN"

  PairTask Task(const Pair& pair) const {
    return {.from = ports[pair.from].port, .to = ports[pair.to].port};
  }
};

using fabric::PortName;

// INVALID_ARGUMENT: an unknown node, rail or pattern is named, or a pattern lacks what it needs.
// FAILED_PRECONDITION: nothing to probe at all.
// Ports that are not ACTIVE, have no usable GID or carry traffic (unless the spec includes them)
// are skipped, with the reason. Those in `probed_lately`, by name, may carry that of probes, and
// are not skipped for it.
Result<Plan> MakePlan(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                      const std::set<std::string>& probed_lately = {},
                      const fleet::Sites& sites = {});

// The same for ports that are known already: all of them take part. By rail, then by node, as they
// are to stand in the plan.
Result<Plan> MakePlan(std::vector<Port> ports, std::vector<std::string> leaf_names,
                      const v1::CampaignSpec& spec, std::vector<std::string> pod_names = {});

}  // namespace fabric::plan
