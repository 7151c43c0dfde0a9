// Authenticator: who a caller is and which roles it has, by its certificate, its bearer token, or
// its address when the connection is not encrypted. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/caller.h"
#include "daemon/access/oidc.h"
#include "daemon/access/role_bindings.h"
#include "daemon/access/tokens.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

// A caller whose identity is proven.
struct Principal {
  v1::Identity identity;
  // Nodes that it can report as, with the role AGENT. Absent: any node.
  std::optional<std::vector<std::string>> nodes = {};
};

// The default roles of a loopback caller without encryption: all that this machine could do before
// there were roles.
std::vector<v1::Role> AllLoopbackRoles();

class Authenticator {
 public:
  // `trust_domain`: of the SPIFFE ids whose paths name roles. `loopback_roles`: of callers on
  // loopback without encryption.
  Authenticator(std::string trust_domain, std::vector<v1::Role> loopback_roles)
      : trust_domain_(std::move(trust_domain)), loopback_roles_(std::move(loopback_roles)) {}

  // Roles of callers without encryption from other addresses, for networks of tests only. Without
  // it, they are refused. Call before the first caller.
  void SetPlainRoles(std::vector<v1::Role> roles) { plain_roles_ = std::move(roles); }
  // Verifies the chain of each client certificate again, so that a revocation counts on connections
  // that are open. UNAUTHENTICATED: refused. Call before the first caller.
  using ChainCheck = std::function<Status(std::string_view chain_pem)>;
  void SetChainCheck(ChainCheck check) { chain_check_ = std::move(check); }
  void SetTokens(TokenList tokens) EXCLUDES(mutex_);
  void SetBindings(RoleBindings bindings) EXCLUDES(mutex_);
  // Accepts tokens of this issuer; their roles are those of the bindings.
  void SetOidc(OidcIssuer issuer) EXCLUDES(mutex_);

  // Called when an OIDC token names a key that is not known. Call before the first caller.
  void SetOnUnknownKey(std::function<void()> call) { on_unknown_key_ = std::move(call); }

  // UNAUTHENTICATED with the reason. A token counts before a certificate, and an invalid
  // token is refused.
  Result<Principal> Identify(const Caller& caller, WallTime now) const EXCLUDES(mutex_);

 private:
  Result<Principal> IdentifyToken(const Caller& caller, WallTime now) const EXCLUDES(mutex_);
  Result<Principal> IdentifyStatic(std::string_view token, WallTime now) const EXCLUDES(mutex_);
  Result<Principal> IdentifyOidc(const OidcIssuer& issuer, std::string_view token,
                                 WallTime now) const EXCLUDES(mutex_);
  Result<Principal> IdentifyCertificate(const ClientCertificate& certificate, WallTime now) const
      EXCLUDES(mutex_);

  const std::string trust_domain_;
  const std::vector<v1::Role> loopback_roles_;
  std::optional<std::vector<v1::Role>> plain_roles_;
  ChainCheck chain_check_;
  std::function<void()> on_unknown_key_;
  mutable Mutex mutex_;
  TokenList tokens_ GUARDED_BY(mutex_);
  RoleBindings bindings_ GUARDED_BY(mutex_);
  std::optional<OidcIssuer> oidc_ GUARDED_BY(mutex_);
};

// INVALID_ARGUMENT unless it can be a trust domain: lower case letters, digits and any of ._-
Status CheckTrustDomain(std::string_view domain);

// True for 127.0.0.0/8, ::1 and their IPv4-mapped form, with a port: "127.0.0.1:40112".
bool IsLoopback(std::string_view address);
// The address without its port.
std::string HostOf(std::string_view address);

}  // namespace fabric::access
