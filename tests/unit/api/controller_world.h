// A real controller behind real fronts on ports of the system's choice, as main.cc wires them.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/tls/contexts.h"
#include "daemon/access/audit_log.h"
#include "daemon/access/authenticator.h"
#include "daemon/access/gate.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/grpc_front.h"
#include "daemon/api/grpc_tls.h"
#include "daemon/api/rest/rest_server.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/store/store.h"
#include "tests/testing/temp_tree.h"

namespace fabric::testing {

// Without them, connections are not encrypted.
struct WorldTls {
  const api::GrpcTls* grpc = nullptr;
  tls::ServerSessions* http = nullptr;
};

class ControllerWorld {
 public:
  // `fill` writes to the store before the controller loads it.
  explicit ControllerWorld(const std::function<void(store::Store&)>& fill = {},
                           std::vector<v1::Role> loopback_roles = access::AllLoopbackRoles(),
                           const WorldTls& tls = WorldTls());
  ~ControllerWorld();

  std::uint16_t rest_port() const { return rest_->address().port; }
  std::string grpc_address() const { return ToString(grpc_->address()); }
  access::Authenticator& authenticator() { return authenticator_; }
  access::AuditLog& audit() { return *audit_; }
  access::Gate& gate() { return *gate_; }
  api::Api& api() { return *api_; }

 private:
  TempTree directory_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  control::EventBus events_;
  api::AgentFront agents_;
  std::unique_ptr<control::Controller> controller_;
  access::Authenticator authenticator_;
  std::unique_ptr<access::AuditLog> audit_;
  std::unique_ptr<access::Gate> gate_;
  api::CallMetrics calls_;
  api::PeerSlots watchers_{"event watchers", {.total = 256, .per_peer = 64}};
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<api::RestService> rest_service_;
  std::unique_ptr<api::GrpcFront> grpc_;
  std::unique_ptr<api::RestServer> rest_;
};

}  // namespace fabric::testing
