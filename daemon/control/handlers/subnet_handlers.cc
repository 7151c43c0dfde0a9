// Handlers about InfiniBand subnets.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/suggest.h"
#include "base/text.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_turn.h"
#include "subnet/wire/snapshot_parts.h"

namespace fabric::control {
namespace {

Status ListSubnets(State& state, const v1::ListSubnetsRequest&, v1::ListSubnetsResponse& response,
                   ListTurn& turn) {
  OfferAll(
      state.Subnets(), [](const v1::SubnetInfo& info) { return info.name() + " " + info.source(); },
      turn, *response.mutable_subnets(), response);
  return {};
}

Status Unknown(const std::vector<v1::SubnetInfo>& all, const std::string& name) {
  std::vector<std::string_view> names;
  for (const v1::SubnetInfo& info : all) names.push_back(info.name());
  return {Code::kNotFound, UnknownName("subnet", name, names)};
}

Status NoSnapshot(const State& state, const std::string& name) {
  const std::vector<v1::SubnetInfo> all = state.Subnets();
  if (std::ranges::find(all, name, &v1::SubnetInfo::name) == all.end()) return Unknown(all, name);
  return {Code::kUnavailable, Format("subnet {} has not been read yet", name)};
}

// nullptr: no such subnet, or not read yet.
const subnet::Frame* FrameOf(const State& state, const std::string& name) {
  if (const subnet::Frame* const frame = state.subnets.FrameOf(name)) return frame;
  for (const subnet::FileSubnet& file : state.subnet_files)
    if (file.info.name() == name) return &file.outline;
  return nullptr;
}

Status GetSubnetSnapshot(State& state, const v1::GetSubnetSnapshotRequest& request,
                         v1::SubnetPart& part, Moment) {
  const subnet::Frame* const frame = FrameOf(state, request.name());
  if (frame == nullptr) return NoSnapshot(state, request.name());
  if (request.digest() != 0 && request.digest() != frame->digest)
    return {Code::kFailedPrecondition,
            Format("subnet {} was read again: begin with part 0", request.name())};
  const std::size_t parts = subnet::PartsOf(*frame);
  if (request.index() >= parts)
    return {Code::kInvalidArgument,
            Format("index: expected less than {}, saw {}", parts, request.index())};
  part = subnet::PartOf(*frame, request.index());
  return {};
}

Status GetSubnetHistory(State& state, const v1::GetSubnetHistoryRequest& request,
                        v1::SubnetHistory& history, Moment) {
  // Also of a subnet that no agent reads any more.
  if (const v1::SubnetHistory* const known = state.subnet_histories.Find(request.name())) {
    history = *known;
    return {};
  }
  const std::vector<v1::SubnetInfo> all = state.Subnets();
  if (std::ranges::find(all, request.name(), &v1::SubnetInfo::name) == all.end())
    return Unknown(all, request.name());
  history.set_subnet(request.name());
  return {};
}

constexpr Handler kSubnetHandlers[] = {
    kHandler<&GetSubnetHistory>,
    kList<&ListSubnets>,
    kHandler<&GetSubnetSnapshot>,
};

}  // namespace

std::span<const Handler> SubnetHandlers() {
  return kSubnetHandlers;
}

}  // namespace fabric::control
