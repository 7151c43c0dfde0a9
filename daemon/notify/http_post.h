// HTTP/1.1 client for one POST, with TLS 1.3. Blocks for at most the timeout, and for the time that
// the resolver of the machine takes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::notify {

struct Url {
  bool tls = false;
  std::string host;  // Without brackets
  std::string port;
  std::string target;  // "/path?query"
};

// "https://hooks.example.org/fabric", "http://[::1]:8080/". INVALID_ARGUMENT for other schemes,
// user names and control characters.
Result<Url> ParseUrl(std::string_view text);

struct HttpPost {
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  std::string ca_file;  // CAs of the server (PEM). Empty: those of the machine
  Duration timeout = std::chrono::seconds(5);
};

// OK for 200 to 299. INVALID_ARGUMENT for 400 to 499 except 408 and 429: a repetition has the same
// answer. UNAVAILABLE for all else.
Status Post(const HttpPost& post, const Clock& clock);

// The status of an answer, as for Post(). `head`: its first line.
Status StatusOfAnswer(std::string_view head);

}  // namespace fabric::notify
