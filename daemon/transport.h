// TLS of fabricd's listeners, by its settings. Without certificates fabricd listens on loopback
// only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "base/tls/contexts.h"
#include "base/tls/tls_files.h"
#include "daemon/api/agent_front.h"
#include "daemon/api/grpc_tls.h"
#include "daemon/api/metrics.h"

namespace fabric {

// The address of the health listener: the setting, else the host of `rest` and the next port.
HostPort HealthAddress(const Settings& settings);

// INVALID_ARGUMENT with the setting that is wrong: certificates are incomplete, or missing for an
// address that is not a loopback one.
Status CheckTransportSettings(const Settings& settings);

// Binds the addresses of all listeners and releases them, before any file is created. UNAVAILABLE
// or INVALID_ARGUMENT with the setting that is wrong.
Status CheckListeners(const Settings& settings);

class Transport {
 public:
  // The settings are checked. One line with the file that is wrong. Logs the transport in use.
  static Result<std::unique_ptr<Transport>> Open(const Settings& settings, WallTime now);

  // Null: without TLS.
  const tls::TlsFiles* files() const { return files_.get(); }
  const api::GrpcTls* grpc() const { return grpc_.get(); }
  tls::ServerSessions* http() { return http_ ? &*http_ : nullptr; }
  std::string_view http_scheme() const { return http_ ? "https" : "http"; }

  // Reloads changed files, ends the sessions of revoked agents and logs what changed. Call it every
  // few seconds.
  void Check(WallTime now, api::AgentFront& agents);

  // Empty without TLS. Safe to call from any thread.
  std::optional<api::TlsNumbers> Numbers() const;

 private:
  void LogExpiry(WallTime now);

  std::unique_ptr<tls::TlsFiles> files_;  // First: the others use it.
  std::unique_ptr<api::GrpcTls> grpc_;
  std::optional<tls::ServerSessions> http_;
  WallTime expiry_logged_{};
};

}  // namespace fabric
