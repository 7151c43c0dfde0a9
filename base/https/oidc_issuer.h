// Discovery document of an OIDC issuer (OpenID Connect Discovery 1.0): where its keys and tokens
// are.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/https/client.h"
#include "base/status.h"

namespace fabric::https {

// GET of a URL.
using Fetch = std::function<Result<Answer>(const std::string& url)>;

struct OidcIssuer {
  std::string keys_url;    // jwks_uri
  std::string device_url;  // device_authorization_endpoint; empty: no device codes
  std::string token_url;   // token_endpoint; empty: none
};

// Reads ISSUER/.well-known/openid-configuration. FAILED_PRECONDITION with expected and seen if the
// answer is of another issuer, or names URLs that are not https://.
Result<OidcIssuer> Discover(std::string_view issuer, const Fetch& fetch);

// The body of an answer with the status 200. UNAVAILABLE with the URL and the status otherwise.
Result<std::string> Body(const std::string& url, const Fetch& fetch);

}  // namespace fabric::https
