#include "daemon/control/mesh/mesh_planning.h"

#include <utility>
#include <vector>

#include "daemon/control/probing/job_classes.h"
#include "daemon/fleet/fleet_view.h"
#include "daemon/profile/profile.h"
#include "proto/coverage.h"

namespace fabric::control {
namespace {

constexpr int kPlannedOfTurn = 32;  // Nodes

v1::CampaignSpec AllPorts(const v1::TrafficClass& traffic_class) {
  v1::CampaignSpec all;
  all.set_include_busy(true);  // The load of pings is negligible for a job.
  SetQueuePair(traffic_class, *all.add_probes()->mutable_queue_pair());
  return all;
}

}  // namespace

MeshPlanning::MeshPlanning(const v1::TrafficClass& traffic_class)
    : ports_(AllPorts(traffic_class), {}), fabric_(v1::CampaignSpec()) {}

bool MeshPlanning::Gather(const fleet::Fleet& fleet, const fleet::Sites& sites,
                          const Obstacle& obstacle) {
  const profile::Profile no_profile;
  fleet::ExpectationTable expectations;
  auto next = fleet.nodes().upper_bound(last_node_);
  for (int read = 0; next != fleet.nodes().end(); ++next) {
    if (next->second.state != v1::NODE_STATE_CONNECTED) continue;
    if (read++ == kPlannedOfTurn) return true;
    last_node_ = next->first;
    const fleet::NodeView view = fleet::ViewOf(next->second, no_profile, expectations);
    ports_.Add(view, sites);
    fabric_.Add(view, sites);
    for (const fleet::PortView& port : view.ports) {
      if (!port.rail) continue;
      ++read_;
      const v1::ProbePort probed = plan::ToProbePort(port);
      if (std::string reason = obstacle(probed); !reason.empty())
        obstacles_.emplace(plan::PortName(probed), std::move(reason));
    }
  }
  fabric_.AddTopology(sites);
  return false;
}

void MeshPlanning::Plan(std::uint32_t paths, const MeshLayout& before) {
  Result<plan::Candidates> found = std::move(ports_).Find();
  if (!found.ok()) return;  // Cannot happen: the spec names no node and no rail.
  layout_.candidates = std::move(found->ports);
  left_out_.Assign(found->skipped.begin(), found->skipped.end());
  std::vector<plan::Port> ports;
  for (const plan::Port& port : layout_.candidates) {
    const auto obstacle = obstacles_.find(plan::PortName(port.port));
    if (obstacle == obstacles_.end())
      ports.push_back(port);
    else
      *left_out_.Add() =
          CoverageGapOf(port.port, v1::COVERAGE_GAP_REASON_NO_MESH_ENDPOINT, obstacle->second);
  }
  layout_.fabric = std::move(fabric_).Build();
  layout_.plan = plan::MakeMesh(std::move(ports), found->leaf_names, {.paths = paths});
  layout_.Index();
  earlier_ = EarlierPairsOf(layout_, before);
}

}  // namespace fabric::control
