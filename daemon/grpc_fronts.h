// The gRPC servers by the settings: one for all, or one for clients (`grpc`) and one for agents
// (`agents`).
#pragma once

#include <memory>
#include <optional>

#include "base/settings.h"
#include "base/status.h"
#include "daemon/api/grpc_front.h"

namespace fabric {

class GrpcFronts {
 public:
  // As GrpcFront::Listen.
  static Result<GrpcFronts> Listen(const Settings& settings, const api::CallFunction& call,
                                   control::EventBus& events, api::PeerSlots& watchers,
                                   api::AgentFront& agents, const api::GrpcTls* tls);

  const HostPort& address() const { return clients_->address(); }
  std::optional<HostPort> agents() const;  // Absent: with the clients
  void SetServing(bool serving);
  void Stop();

 private:
  std::unique_ptr<api::GrpcFront> clients_;
  std::unique_ptr<api::GrpcFront> agents_;  // Null: with the clients
};

}  // namespace fabric
