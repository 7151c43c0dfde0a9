#include "daemon/standby.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/api/agent_front.h"
#include "daemon/api/grpc_front.h"
#include "daemon/control/events.h"
#include "daemon/follower.h"
#include "daemon/http_fronts.h"

namespace fabric {
namespace {

// /readyz is 503, so that a load balancer sends requests to the leader.
std::vector<api::Page> PagesOf(const Leadership& leadership) {
  const auto answer = [](int status, std::string text) {
    api::HttpResponse response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = std::move(text);
    return response;
  };
  const auto refusal = [&leadership, answer] {
    return answer(503, leadership.Refusal().message() + "\n");
  };
  return {{"/healthz", refusal}, {"/readyz", refusal}, {"/livez", [answer] {
                                                          return answer(200, "ok\n");
                                                        }}};
}

}  // namespace

struct Standby::Parts {
  Parts(Transport& the_transport, const Clock& the_clock)
      : transport(the_transport), clock(the_clock) {}

  Transport& transport;
  const Clock& clock;
  std::optional<Follower> follower;
  control::EventBus events{0};
  api::AgentFront agents;
  api::PeerSlots watchers{"event watchers", {.total = 1, .per_peer = 1}};
  std::unique_ptr<api::GrpcFront> grpc;
  HttpFront rest, health;
};

Standby::Standby(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Standby::~Standby() {
  parts_->rest.server->Stop();
  parts_->health.server->Stop();
  parts_->grpc->Stop();
}

Result<std::unique_ptr<Standby>> Standby::Listen(const Settings& settings,
                                                 const Leadership& leadership, access::Gate& gate,
                                                 Transport& transport, const Clock& clock,
                                                 control::ControllerOptions options) {
  auto parts = std::make_unique<Parts>(transport, clock);
  parts->follower.emplace(leadership, std::move(options), gate, clock);
  parts->agents.SetListener(
      {.admit =
           [&](const access::Caller& caller, const std::string* node) {
             RETURN_IF_ERROR(gate.AdmitAgent(caller, node));
             return leadership.Refusal();
           },
       .on_message = [&](SessionId, const v1::AgentMessage&) { return leadership.Refusal(); },
       .on_gone = [](SessionId, const std::string&) {}});
  const api::CallFunction call = [&follower = *parts->follower](const api::CallContext& context,
                                                                auto&&... arguments) {
    return follower.Call(context, arguments...);
  };
  ASSIGN_OR_RETURN(parts->grpc,
                   api::GrpcFront::Listen(settings.Address("grpc"), call, parts->events,
                                          parts->watchers, parts->agents, transport.grpc()));
  const std::vector<api::Page> pages = PagesOf(leadership);
  ASSIGN_OR_RETURN(parts->rest, ListenRest(settings, call, pages, parts->events, parts->watchers,
                                           transport.http()));
  ASSIGN_OR_RETURN(parts->health, ListenHealth(HealthAddress(settings), pages, parts->events,
                                               parts->watchers, transport.http()));
  return std::unique_ptr<Standby>(new Standby(std::move(parts)));
}

Addresses Standby::addresses() const {
  return {parts_->grpc->address(), parts_->rest.server->address(),
          parts_->health.server->address()};
}

void Standby::Tick() {
  parts_->transport.Check(parts_->clock.Now().wall, parts_->agents);
}

}  // namespace fabric
