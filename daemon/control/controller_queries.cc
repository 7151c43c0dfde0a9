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
  if (handler->in_turns != nullptr) return CallLong(*handler, request, response, now);
  if (handler->list == nullptr) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, request.GetDescriptor()->name());
    const WriteBatch batch(state_->outbox);
    return handler->call(*state_, request, response, now);
  }
  return CallInTurns(request, response, now, [&](const auto& one, auto& part, ListTurn& list) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kListPart, request.GetDescriptor()->name());
    return handler->list(*state_, one, part, list);
  });
}

// One at a time: such a call can take much memory.
Status Controller::CallLong(const Handler& handler, const google::protobuf::Message& request,
                            google::protobuf::Message& response, Moment now) {
  const MutexLock one(long_calls_);
  const StateTurns turns([&](const std::function<void(State&)>& work) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, request.GetDescriptor()->name());
    const WriteBatch batch(state_->outbox);
    work(*state_);
  });
  return handler.in_turns(turns, request, response, now);
}

std::vector<Labels> Controller::LabelsOf(const std::vector<std::string>& nodes) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kCall, "labels");
  std::vector<Labels> labels;
  for (const std::string& node : nodes) labels.push_back(state_->labels.Of(node));
  return labels;
}

void Controller::SetSigningKey(SigningKey key) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTickCertificates);
  state_->certificates.SetKey(std::move(key));
}

void Controller::SetFiles(const rules::ControllerFiles& files) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTickRules);
  state_->evaluator.SetOwn(rules::FindingsOf(files));
}

std::vector<SubnetNews> Controller::TakeSubnetNews() {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
  return state_->subnets.TakeNews();
}

void Controller::OnSubnetDecoded(const std::string& subnet, Result<SubnetContent> content,
                                 Moment now) {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
  const WriteBatch batch(state_->outbox);
  if (content.ok() && content->changes.total() > 0) {
    state_->subnet_histories.Add(content->changes, now);
    state_->outbox.Publish(
        now, [&](v1::Event& event) { *event.mutable_subnet() = std::move(content->changes); });
  }
  state_->subnets.OnDecoded(subnet, std::move(content), now);
}

std::map<std::string, std::string> Controller::SubnetProblems() {
  const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
  return state_->subnets.Problems();
}

void Controller::SetInfiniband(fleet::InfinibandTopology topology, subnet::Evaluation checks,
                               Moment now, std::vector<subnet::FileSubnet> files) {
  constexpr std::size_t kNodesOfTurn = 128;
  std::vector<std::string> nodes;
  {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
    state_->sites.set_infiniband(std::move(topology));
    state_->fleet.SetInfiniband(&state_->sites.infiniband());
    state_->evaluator.SetSubnets(std::move(checks));
    state_->subnet_files = std::move(files);
    for (const auto& [name, record] : state_->fleet.nodes()) nodes.push_back(name);
  }
  for (std::size_t at = 0; at < nodes.size();) {
    const Turn turn(mutex_, turns_, clock_, TurnKind::kTopology);
    for (const std::size_t end = std::min(nodes.size(), at + kNodesOfTurn); at < end; ++at) {
      state_->fleet.UpdateSwitches(nodes[at]);
      if (const fleet::NodeRecord* const record = state_->fleet.Find(nodes[at]))
        numbers_.PutNode(*record, state_->CoverOf(*record));
    }
    OnFleetChange(now);
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
