// HTTPS client for small requests: keys and tokens of an OIDC issuer. One connection for each
// request; no redirects, no proxies, no cookies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::https {

struct Url {
  std::string host;
  std::uint16_t port = 443;
  std::string target = "/";
};

// INVALID_ARGUMENT unless it is https://HOST[:PORT][/PATH] without user, fragment and control
// characters.
Result<Url> ParseUrl(std::string_view text);
std::string ToString(const Url& url);

struct Limits {
  std::string ca_pem;                            // Empty: the CAs of the system
  Duration patience = std::chrono::seconds(10);  // For the whole request
  std::size_t bytes_max = 256 << 10;             // Of the answer
};

struct Answer {
  int status = 0;
  std::string body;
};

// TLS 1.2 or newer; the certificate must be valid for the host. UNAVAILABLE with the URL and the
// reason without an answer in time, RESOURCE_EXHAUSTED if it is too long. An answer with an
// error status is an answer.
Result<Answer> Get(const Url& url, const Limits& limits);
// `form`: application/x-www-form-urlencoded
Result<Answer> Post(const Url& url, std::string_view form, const Limits& limits);

}  // namespace fabric::https
