// The functions of Controller about what nodes have and where they are: what differs, what most
// have, the topology.
#include <utility>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/control/mesh/mesh.h"
#include "daemon/control/node_history.h"
#include "daemon/infer/infer.h"
#include "daemon/snapshot_diff/difference.h"

namespace fabric::control {

Status Controller::DiffNode(const v1::DiffNodeRequest& request, v1::DiffNodeResponse& response,
                            Moment now) {
  const MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckNode(request.name()));
  if ((request.since_seconds() != 0) == !request.other().empty())
    return {Code::kInvalidArgument, Format("expected one of since_seconds and other, saw {}",
                                           request.other().empty() ? "none" : "both")};
  if (request.other().empty())
    return history_->Since(fleet_.Find(request.name())->snapshot, request.since_seconds(), now,
                           response);
  RETURN_IF_ERROR(CheckNode(request.other()));
  response =
      facts::Diff(fleet_.Find(request.name())->snapshot, fleet_.Find(request.other())->snapshot);
  return {};
}

Status Controller::InferProfile(const v1::InferProfileRequest&,
                                v1::InferProfileResponse& response) {
  const MutexLock lock(mutex_);
  response = infer::InferProfile(fleet::FleetView(fleet_));
  return {};
}

void Controller::SetInfiniband(fleet::InfinibandTopology topology, Moment now) {
  const MutexLock lock(mutex_);
  sites_.set_infiniband(std::move(topology));
  OnFleetChange(now);
}

InfinibandState Controller::Infiniband() {
  const MutexLock lock(mutex_);
  const fleet::InfinibandTopology& topology = sites_.infiniband();
  if (topology.empty()) return {};
  if (!cover_) cover_ = sites_.Cover(fleet::FleetView(fleet_));
  return {.known = true,
          .made_at = topology.made_at(),
          .switches = topology.switches().size(),
          .ports = topology.ports(),
          .cover = *cover_};
}

}  // namespace fabric::control
