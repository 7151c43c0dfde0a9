// What people and monitoring read from the controller.
#include <algorithm>
#include <utility>
#include <vector>

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
  numbers_.SetOthers(OtherNumbers(*state_));
}

FleetNumbers Controller::Numbers() const {
  return numbers_.Read();
}

std::string Controller::StoreFailure() const {
  return numbers_.store_failure();
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
  if (handler->list == nullptr) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, request.GetDescriptor()->name());
    return handler->call(*state_, request, response, now);
  }
  return CallInTurns(request, response, now, [&](const auto& one, auto& part, ListTurn& list) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kListPart, request.GetDescriptor()->name());
    return handler->list(*state_, one, part, list);
  });
}

void Controller::SetSigningKey(SigningKey key) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTickCertificates);
  state_->certificates.SetKey(std::move(key));
}

void Controller::SetInfiniband(fleet::InfinibandTopology topology, subnet::Evaluation checks,
                               Moment now) {
  constexpr std::size_t kNodesOfTurn = 256;
  std::vector<std::string> nodes;
  {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
    state_->sites.set_infiniband(std::move(topology));
    state_->fleet.SetInfiniband(&state_->sites.infiniband());
    state_->evaluator.SetSubnets(std::move(checks));
    OnFleetChange(now);
    for (const auto& [name, record] : state_->fleet.nodes()) nodes.push_back(name);
  }
  for (std::size_t at = 0; at < nodes.size();) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
    for (const std::size_t end = std::min(nodes.size(), at + kNodesOfTurn); at < end; ++at)
      if (const fleet::NodeRecord* const record = state_->fleet.Find(nodes[at]))
        numbers_.PutNode(*record, state_->CoverOf(*record));
  }
}

InfinibandState Controller::Infiniband() {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, "infiniband");
  const fleet::InfinibandTopology& topology = state_->sites.infiniband();
  if (topology.empty()) return {};
  return {.known = true,
          .made_at = topology.made_at(),
          .switches = topology.switches().size(),
          .ports = topology.ports(),
          .cover = numbers_.cover()};
}

}  // namespace fabric::control
