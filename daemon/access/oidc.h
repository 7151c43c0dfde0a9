// Claims of OIDC tokens. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/access/key_set.h"

namespace fabric::access {

// Of the issuer that a site trusts.
struct OidcIssuer {
  static constexpr Duration kClockSkew = std::chrono::seconds(60);

  std::string issuer;    // "https://login.example.org"; claim iss
  std::string audience;  // One of the claim aud
  std::string name_claim = "sub";
  std::string groups_claim = "groups";
  KeySet keys = {};
};

struct OidcIdentity {
  std::string name;                 // "oidc:alice@example.org"
  std::vector<std::string> groups;  // "oidc-group:ops"
  WallTime expires_at = {};
};

// UNAUTHENTICATED with the claim, expected and seen, unless the token is signed, valid now, and of
// this issuer for this audience.
Result<OidcIdentity> ReadOidcToken(const OidcIssuer& issuer, std::string_view token, WallTime now);

}  // namespace fabric::access
