// Names in client certificates: SPIFFE ids, DNS names, common names. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/access/caller.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

inline constexpr std::size_t kIdentityBytesMax = 256;

// At most kIdentityBytesMax bytes of UTF-8 without control characters, and not empty: what logs and
// messages can contain.
bool IsIdentityName(std::string_view name);

struct CertificateName {
  std::string name;             // "spiffe://example.org/operator/alice", "n1.example.org", "CN=n1"
  std::vector<v1::Role> roles;  // That a SPIFFE id of the trust domain names
  std::vector<std::string> nodes;  // "n1": that it names
  bool is_node = false;            // spiffe://DOMAIN/node/NAME: its role is AGENT and no other.
};

// The SPIFFE id, else the first DNS name, else the common name. UNAUTHENTICATED when it has several
// SPIFFE ids, an invalid one, or no name.
Result<CertificateName> NameOf(const ClientCertificate& certificate, std::string_view trust_domain);

}  // namespace fabric::access
