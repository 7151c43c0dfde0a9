// The two HTTP listeners of fabricd: the API, and health with metrics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/status.h"
#include "base/tls/contexts.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/peer_slots.h"
#include "daemon/api/rest/rest_server.h"
#include "daemon/api/rest/rest_service.h"
#include "daemon/control/events.h"

namespace fabric {

struct HttpFront {
  std::unique_ptr<api::RestService> service;
  std::unique_ptr<api::RestServer> server;  // Ends before its service.
};

// Everything is borrowed and must outlive the front. Without `tls`, connections are not encrypted.
Result<HttpFront> ListenRest(const Settings& settings, const api::CallFunction& call,
                             std::vector<api::Page> pages, control::EventBus& events,
                             api::PeerSlots& watchers, tls::ServerSessions* tls);

// It has small limits of its own: a client that fills the REST server does not fill it. Monitoring
// uses any name.
Result<HttpFront> ListenHealth(const HostPort& address, std::vector<api::Page> pages,
                               control::EventBus& events, api::PeerSlots& watchers,
                               tls::ServerSessions* tls);

std::string MachineName();  // Empty: unknown

}  // namespace fabric
