#include "daemon/grpc_fronts.h"

namespace fabric {

Result<GrpcFronts> GrpcFronts::Listen(const Settings& settings, const api::CallFunction& call,
                                      control::EventBus& events, api::PeerSlots& watchers,
                                      api::AgentFront& agents, const api::GrpcTls* tls) {
  using api::GrpcFront;
  using api::GrpcServices;
  GrpcFronts fronts;
  const bool apart = settings.Has("agents");
  ASSIGN_OR_RETURN(fronts.clients_,
                   GrpcFront::Listen(settings.Address("grpc"), call, events, watchers, agents, tls,
                                     apart ? GrpcServices::kOfClients : GrpcServices::kAll));
  if (apart) {
    ASSIGN_OR_RETURN(fronts.agents_,
                     GrpcFront::Listen(settings.Address("agents"), call, events, watchers, agents,
                                       tls, GrpcServices::kOfAgents));
  }
  return fronts;
}

std::optional<HostPort> GrpcFronts::agents() const {
  return agents_ == nullptr ? std::nullopt : std::optional(agents_->address());
}

void GrpcFronts::SetServing(bool serving) {
  clients_->SetServing(serving);
  if (agents_ != nullptr) agents_->SetServing(serving);
}

void GrpcFronts::Stop() {
  if (agents_ != nullptr) agents_->Stop();
  clients_->Stop();
}

}  // namespace fabric
