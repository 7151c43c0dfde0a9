// gRPC server: service Fabric (by descriptors, without code for each rpc), AgentLink, server
// reflection and health.
#pragma once

#include <cstdint>
#include <memory>

#include "base/settings.h"
#include "base/status.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/peer_slots.h"
#include "daemon/control/events.h"

namespace fabric::api {

class AgentFront;
class GrpcTls;

// What one server offers.
enum class GrpcServices : std::uint8_t {
  kAll,
  kOfClients,  // Fabric, reflection and health
  kOfAgents,   // AgentLink, NodeJoin and health
};

class GrpcFront {
 public:
  // Listens; all are borrowed and must outlive the front. Without `tls`, connections are not
  // encrypted. UNAVAILABLE with the address and the reason when that fails.
  static Result<std::unique_ptr<GrpcFront>> Listen(const HostPort& address, CallFunction call,
                                                   control::EventBus& events, PeerSlots& watchers,
                                                   AgentFront& agents, const GrpcTls* tls = nullptr,
                                                   GrpcServices services = GrpcServices::kAll);
  ~GrpcFront();

  // With the chosen port if the requested one was 0.
  const HostPort& address() const;

  // The answer of the health service grpc.health.v1, which needs no role. At first: not serving.
  void SetServing(bool serving);

  // Ends all calls, watchers and agents with UNAVAILABLE; returns when none runs, after about half
  // a second at most.
  void Stop();

 private:
  struct Parts;
  explicit GrpcFront(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Redirects the log of gRPC: its errors become warnings, the rest debug lines. Turns off the log of
// protobuf.
void RedirectGrpcLog();

}  // namespace fabric::api
