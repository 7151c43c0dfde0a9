// Caller of the API: what the connection proves about it. The fronts fill it; Authenticator decides
// who the caller is.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace fabric::access {

// Client certificate whose chain the TLS library verified against the configured CA.
struct ClientCertificate {
  std::string common_name;             // Of the subject
  std::vector<std::string> uris;       // Subject alternative names: "spiffe://example.org/node/n1"
  std::vector<std::string> dns_names;  // Subject alternative names
  std::chrono::system_clock::time_point not_after;
  std::string chain_pem = {};  // The certificate first, PEM; empty: it is not verified again
};

struct Caller {
  std::string address;  // Of the peer: "192.0.2.7:51332"
  bool encrypted = false;
  std::optional<ClientCertificate> certificate;
  std::string authorization;  // Value of the Authorization header; empty: none. Secret.
};

}  // namespace fabric::access
