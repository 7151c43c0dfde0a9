// HTTP client for small requests: keys and tokens of an OIDC issuer, webhooks. One connection for
// each request; no redirects, no proxies, no cookies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::https {

struct Url {
  std::string host;
  std::uint16_t port = 443;
  std::string target = "/";
  bool tls = true;  // https://
};

// INVALID_ARGUMENT unless it is https://HOST[:PORT][/PATH] without user, fragment and control
// characters.
Result<Url> ParseUrl(std::string_view text);
// Also http://
Result<Url> ParseHttpUrl(std::string_view text);
std::string ToString(const Url& url);

struct Limits {
  std::string ca_pem;                            // Empty: the CAs of the system
  Duration patience = std::chrono::seconds(10);  // For the whole request
  std::size_t bytes_max = 256 << 10;             // Of the answer
  bool read_body = true;                         // False: only its status is read.
};

// What a POST sends.
struct Content {
  std::string type;  // "application/json"
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};
inline constexpr const char* kFormType = "application/x-www-form-urlencoded";

struct Answer {
  int status = 0;
  std::string body;
};

// TLS 1.2 or newer; the certificate must be valid for the host. UNAVAILABLE with scheme, host, port
// and the reason without an answer in time: a path can be a secret. RESOURCE_EXHAUSTED if the
// answer is too long. An answer with an error status is an answer.
Result<Answer> Get(const Url& url, const Limits& limits);
Result<Answer> Post(const Url& url, const Content& content, const Limits& limits);

}  // namespace fabric::https
