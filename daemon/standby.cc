#include "daemon/standby.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/api/agent_front.h"
#include "daemon/control/events.h"
#include "daemon/follower.h"
#include "daemon/grpc_fronts.h"
#include "daemon/http_fronts.h"
#include "daemon/web/web_files.h"

namespace fabric {
namespace {

// /readyz is 503, so that a load balancer sends requests to the leader.
api::HttpResponse TextAnswer(int status, std::string text) {
  api::HttpResponse response;
  response.status = status;
  response.content_type = "text/plain";
  response.body = std::move(text) + "\n";
  return response;
}

std::vector<api::Page> HealthPagesOf(const Leadership& leadership) {
  const auto refusal = [&leadership] { return TextAnswer(503, leadership.Refusal().message()); };
  return {{"/healthz", refusal}, {"/readyz", refusal}, {"/livez", [] {
                                                          return TextAnswer(200, "ok");
                                                        }}};
}

// A browser that asks for the web page goes on to the leader. Calls do not: a program that does not
// follow a redirection would take its answer for success.
std::vector<api::Page> RestPagesOf(const Leadership& leadership) {
  std::vector<api::Page> pages = HealthPagesOf(leadership);
  const auto add = [&](const std::string& path) {
    pages.push_back({path, [&leadership, path] {
                       const std::string leader = leadership.LeaderPage();
                       const std::string refusal(leadership.Refusal().message());
                       if (leader.empty()) return TextAnswer(503, refusal);
                       api::HttpResponse response = TextAnswer(307, refusal);
                       response.headers = Format("Location: {}{}\r\n", leader, path);
                       return response;
                     }});
  };
  add("/");
  for (const web::File& file : web::Files()) add(std::string(file.path));
  return pages;
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
  std::optional<GrpcFronts> grpc;
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
  ASSIGN_OR_RETURN(parts->grpc, GrpcFronts::Listen(settings, call, parts->events, parts->watchers,
                                                   parts->agents, transport.grpc()));
  ASSIGN_OR_RETURN(parts->rest, ListenRest(settings, call, RestPagesOf(leadership), parts->events,
                                           parts->watchers, transport.http()));
  ASSIGN_OR_RETURN(parts->health, ListenHealth(HealthAddress(settings), HealthPagesOf(leadership),
                                               parts->events, parts->watchers, transport.http()));
  return std::unique_ptr<Standby>(new Standby(std::move(parts)));
}

Addresses Standby::addresses() const {
  return {parts_->grpc->address(), parts_->rest.server->address(), parts_->health.server->address(),
          parts_->grpc->agents()};
}

void Standby::Tick() {
  parts_->transport.Check(parts_->clock.Now().wall, parts_->agents);
}

}  // namespace fabric
