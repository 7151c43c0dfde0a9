// Key and certificate of a node that joins by itself. Files of the folder:
//   node.pem      certificate and key, replaced together
//   ca.pem        CAs of the controller, unless the setting tls-ca names a file
//   next-key.pem  key of a request that has no certificate yet
// The key never leaves the node.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/tls_files.h"
#include "fabric/v1/join.pb.h"

namespace fabric::agent {

struct CredentialOptions {
  std::string folder;
  std::string node;        // Name of this node
  std::string ca;          // File of the CA; empty: ca.pem
  std::string token_file;  // Join token; empty: the request waits for approval
};

// Calls of service NodeJoin.
class JoinCalls {
 public:
  virtual ~JoinCalls() = default;
  // Does not verify the controller: the caller compares the answer with a pin.
  virtual Result<v1::Authority> GetAuthority() = 0;
  virtual Result<v1::JoinNodeResponse> Join(const tls::TlsMaterial& material,
                                            const v1::JoinNodeRequest& request) = 0;
  virtual Result<v1::JoinNodeResponse> Renew(const tls::TlsMaterial& material,
                                             const v1::RenewNodeRequest& request) = 0;
};

class Credential {
 public:
  explicit Credential(CredentialOptions options) : options_(std::move(options)) {}

  tls::TlsPaths Paths() const;

  // OK: the files can be used now. NOT_FOUND: the node has to join.
  Status Check(WallTime now) const;

  // Asks for a certificate once. UNAVAILABLE with the id and the fingerprint while the request
  // waits for approval.
  Status Join(JoinCalls& calls, WallTime now);

  // Two thirds of the validity period are over.
  Result<bool> NeedsRenewal(WallTime now) const;
  // Gets a certificate for a new key. The files stay as they are if that fails.
  Status Renew(JoinCalls& calls, WallTime now);

 private:
  std::string PathOf(std::string_view file) const;
  Result<std::string> Authority(JoinCalls& calls, std::string_view pin) const;
  Result<std::string> NextKey(bool fresh) const;
  Status Accept(const v1::JoinNodeResponse& response, const std::string& key, WallTime now) const;

  CredentialOptions options_;
};

}  // namespace fabric::agent
