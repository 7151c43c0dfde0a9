// Joining of nodes by the settings join-ca, join-ca-key and join-lifetime.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/tls/tls_files.h"
#include "daemon/api/agent_front.h"
#include "daemon/join/join_service.h"

namespace fabric {

// File of join tokens, requests and certificates of nodes.
std::string RegistryPath(const Settings& settings);

class SiteJoin {
 public:
  // Null: joining is off. `tls`: files of fabricd, null without TLS. Sessions of `agents` continue
  // with renewed certificates. Both are borrowed. Errors name the setting, and the file.
  static Result<std::unique_ptr<SiteJoin>> Open(const Settings& settings, const tls::TlsFiles* tls,
                                                api::AgentFront& agents, WallTime now);

  join::JoinService& service() { return service_; }
  // Reads the CA again if its files have changed, and logs that. Call once a second.
  void Tick(WallTime now);
  // Of the thread that calls Tick(): why the changed files are not in use. OK: they are.
  const Status& problem() const { return problem_; }

 private:
  SiteJoin(std::unique_ptr<join::Registry> registry, std::unique_ptr<join::NodeCa> ca,
           api::AgentFront& agents);

  std::unique_ptr<join::Registry> registry_;
  std::unique_ptr<join::NodeCa> ca_;
  join::JoinService service_;
  Status problem_;
};

}  // namespace fabric
