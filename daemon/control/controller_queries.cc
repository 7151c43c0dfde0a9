// What people and monitoring read from the controller.
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/control/controller.h"
#include "daemon/control/handlers/handler.h"
#include "daemon/control/listing/list_call.h"
#include "daemon/control/state.h"
#include "subnet/checks/check.h"

namespace fabric::control {

void Controller::UpdateNumbers(Moment now) {
  if (numbers_at_ && now.steady - *numbers_at_ < kNumbersAge) return;
  numbers_at_ = now.steady;
  FleetNumbers numbers = NumbersOf(*state_);
  const InfinibandState infiniband = InfinibandNow();
  numbers.infiniband = {
      .known = infiniband.known,
      .placed = infiniband.cover.placed,
      .lid_mismatches = infiniband.cover.lid_mismatches,
      .unknown = infiniband.cover.unknown,
      .made_at_seconds =
          std::chrono::duration<double>(infiniband.made_at.time_since_epoch()).count()};
  const MutexLock lock(numbers_mutex_);
  std::swap(numbers_, numbers);
}

FleetNumbers Controller::Numbers() {
  const MutexLock lock(numbers_mutex_);
  return numbers_;
}

Status Controller::Call(const google::protobuf::Message& request,
                        google::protobuf::Message& response, Moment now) {
  const Handler* const handler = FindHandler(*request.GetDescriptor());
  if (handler == nullptr)
    return {Code::kUnimplemented,
            Format("{} has no handler", request.GetDescriptor()->full_name())};
  if (handler->response() != response.GetDescriptor())
    return {Code::kInternal,
            Format("expected a response of type {}, saw {}", handler->response()->full_name(),
                   response.GetDescriptor()->full_name())};
  const TakeTurn take_turn = [&](const google::protobuf::Message& one,
                                 google::protobuf::Message& part) {
    const MutexLock lock(mutex_);
    return handler->call(*state_, one, part, now);
  };
  return handler->list ? CallInTurns(request, response, take_turn) : take_turn(request, response);
}

void Controller::SetInfiniband(fleet::InfinibandTopology topology, subnet::Evaluation checks,
                               Moment now) {
  const MutexLock lock(mutex_);
  state_->sites.set_infiniband(std::move(topology));
  state_->fleet.SetInfiniband(&state_->sites.infiniband());
  state_->evaluator.SetSubnets(std::move(checks));
  OnFleetChange(now);
}

InfinibandState Controller::Infiniband() {
  const MutexLock lock(mutex_);
  return InfinibandNow();
}

InfinibandState Controller::InfinibandNow() {
  const fleet::InfinibandTopology& topology = state_->sites.infiniband();
  if (topology.empty()) return {};
  if (!state_->cover) state_->cover = state_->sites.Cover(fleet::FleetView(state_->fleet));
  return {.known = true,
          .made_at = topology.made_at(),
          .switches = topology.switches().size(),
          .ports = topology.ports(),
          .cover = *state_->cover};
}

}  // namespace fabric::control
