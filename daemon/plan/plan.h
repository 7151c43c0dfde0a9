// Planner of probe campaigns: which ports probe each other, in rounds. Pure: the same fleet, spec
// and seed give the same plan.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
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
  // InfiniBand and Ethernet ports cannot reach each other.
  v1::LinkLayer network = v1::LINK_LAYER_UNSPECIFIED;
  LeafIndex leaf = kNoLeaf;  // Leaf switch; kNoLeaf: not known
  PodIndex pod = kNoPod;     // Pod by the profile; kNoPod: not known
};

struct PairTask {
  v1::ProbePort from;  // Initiator
  v1::ProbePort to;
};

struct Plan {
  std::vector<Port> ports;  // By rail, then by node
  std::vector<std::string> leaf_names;
  std::vector<std::string> pod_names;
  // Pairs of indexes in `ports`. A port occurs once in a round, except the receiver of an incast. A
  // pair occurs once in the plan.
  Rounds rounds;
  std::vector<v1::CoverageGap> skipped;

  PairTask Task(const Pair& pair) const {
    return {.from = ports[pair.from].port, .to = ports[pair.to].port};
  }
};

using fabric::PortName;

// Rounds of the pattern CABLES, which need the routes of the subnet: pairs of indexes in the list
// of ports.
struct Cover {
  std::vector<std::vector<std::pair<PortIndex, PortIndex>>> rounds;
  std::vector<v1::CoverageGap> gaps;
};
using CoverFunction = std::function<Result<Cover>(std::span<const v1::ProbePort> ports)>;

// INVALID_ARGUMENT: unknown node, rail or pattern, or a missing field that the pattern requires.
// FAILED_PRECONDITION: no port to probe, or the pattern CABLES without a `cover`.
// Skips ports that are not ACTIVE, have no usable GID, or carry traffic (unless the spec includes
// busy ports). Ports named in `probed_lately` are not checked for traffic, because it may be that
// of probes.
Result<Plan> MakePlan(const fleet::FleetView& fleet, const v1::CampaignSpec& spec,
                      const std::set<std::string>& probed_lately = {},
                      const fleet::Sites& sites = {}, const CoverFunction& cover = {});

// The same for ports that were found by a PortFinder; `known`: it was given a node.
struct Candidates;
Result<Plan> MakePlan(Candidates found, bool known, const v1::CampaignSpec& spec,
                      const CoverFunction& cover = {});

// The same for a given list of ports, all of which take part. `ports`: sorted by rail, then by
// node.
Result<Plan> MakePlan(std::vector<Port> ports, std::vector<std::string> leaf_names,
                      const v1::CampaignSpec& spec, std::vector<std::string> pod_names = {});

}  // namespace fabric::plan
