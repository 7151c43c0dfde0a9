// Access to fabricd by its settings: files of tokens, role bindings and OIDC keys, audit log, gate.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/access/audit_log.h"
#include "daemon/access/authenticator.h"
#include "daemon/access/gate.h"
#include "daemon/access/oidc.h"
#include "daemon/files/watched_file.h"
#include "daemon/oidc_keys.h"

namespace fabric {

// File of the audit log.
std::string AuditPath(const Settings& settings);

class SiteAccess {
 public:
  // The clock is borrowed. Errors name the setting, and the file with the position.
  static Result<std::unique_ptr<SiteAccess>> Open(const Settings& settings, const Clock& clock,
                                                  access::AuditLog::OnEntry on_entry);

  access::Gate& gate() { return *gate_; }
  // Before the first caller.
  void SetChainCheck(access::Authenticator::ChainCheck check) {
    authenticator_.SetChainCheck(std::move(check));
  }

  // Reads files that have changed, where a file with errors leaves its previous content in use, and
  // writes what the audit log still has to write. Logs both. Call once a second, from one thread.
  void Tick();
  // Of the thread that calls Tick(): why changed files are not in use, by setting.
  const std::map<std::string, std::string>& refused() const { return refused_; }
  // Writes the rest to the audit log. When no front runs any more.
  void Stop();

 private:
  SiteAccess(const Settings& settings, std::vector<v1::Role> loopback_roles);
  void Note(const std::string& setting, const Result<std::string>& read);
  Result<std::string> ReadTokens();
  Result<std::string> ReadBindings();
  Result<std::string> ReadOidcKeys();
  Status SetUpOidc(const Settings& settings);

  access::Authenticator authenticator_;
  WatchedFile tokens_;
  WatchedFile bindings_;
  WatchedFile oidc_keys_;
  access::OidcIssuer oidc_;                 // Without keys
  std::unique_ptr<OidcKeys> fetched_keys_;  // Null: they are in a file
  std::unique_ptr<access::AuditLog> audit_;
  std::unique_ptr<access::Gate> gate_;
  Status logged_;  // Condition of the audit log
  std::map<std::string, std::string> refused_;
};

}  // namespace fabric
