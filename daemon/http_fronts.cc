#include "daemon/http_fronts.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "proto/fabric_service.h"

namespace fabric {
namespace {

// Names that HTTP clients may use for this controller.
api::RequestGuard GuardOf(const Settings& settings) {
  std::vector<std::string> names = settings.Words("rest-hosts");
  names.push_back(settings.Address("rest").host);
  if (const std::string machine = MachineName(); !machine.empty()) {
    names.push_back(machine);
    names.push_back(machine.substr(0, machine.find('.')));
  }
  return api::RequestGuard(std::move(names));
}

}  // namespace

std::string MachineName() {
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

Result<HttpFront> ListenRest(const Settings& settings, const api::CallFunction& call,
                             std::vector<api::Page> pages, control::EventBus& events,
                             api::PeerSlots& watchers, tls::ServerSessions* tls) {
  ASSIGN_OR_RETURN(std::vector<api::Route> routes, api::RoutesOf(FabricService()));
  HttpFront front;
  front.service = std::make_unique<api::RestService>(call, std::move(routes), std::move(pages),
                                                     GuardOf(settings));
  ASSIGN_OR_RETURN(front.server, api::RestServer::Listen(settings.Address("rest"), *front.service,
                                                         events, watchers, {}, tls));
  return front;
}

Result<HttpFront> ListenHealth(const HostPort& address, std::vector<api::Page> pages,
                               control::EventBus& events, api::PeerSlots& watchers,
                               tls::ServerSessions* tls) {
  constexpr api::RestLimits kLimits = {.threads = 1,
                                       .connections = {.total = 64, .per_peer = 16},
                                       .header_timeout = std::chrono::seconds(2),
                                       .idle_timeout = std::chrono::seconds(30)};
  HttpFront front;
  front.service = std::make_unique<api::RestService>(api::CallFunction(), std::vector<api::Route>(),
                                                     std::move(pages), api::RequestGuard({"*"}));
  ASSIGN_OR_RETURN(front.server, api::RestServer::Listen(address, *front.service, events, watchers,
                                                         kLimits, tls));
  return front;
}

}  // namespace fabric
