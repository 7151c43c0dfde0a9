// CA that signs the certificates of nodes: files of the settings join-ca and join-ca-key, which are
// read again when they change. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/tls/issuer.h"
#include "base/tls/tls_files.h"
#include "daemon/files/watched_file.h"
#include "fabric/v1/join.pb.h"

namespace fabric::join {

struct NodeCaOptions {
  std::string certificate;  // Path
  std::string key;          // Path
  std::string trust_domain;
  Duration lifetime{};  // Of the certificates
};

struct SignedNode {
  std::string certificate_pem;
  v1::NodeCertificate facts;  // Without granted_by
};

class NodeCa {
 public:
  // `tls`: the files of fabricd, which must outlive it; they must trust the CA. One line with the
  // path, expected and seen.
  static Result<std::unique_ptr<NodeCa>> Open(NodeCaOptions options, const tls::TlsFiles& tls,
                                              WallTime now);

  // Reads the files again if they have changed. A failure leaves the previous ones in use. Returns
  // true if it uses new ones. Call regularly.
  Result<bool> Check(WallTime now) EXCLUDES(mutex_);

  // Signs the key of the request for the node. Errors of ReadRequest, and FAILED_PRECONDITION if
  // fabricd would refuse the certificate, such as with a CA that is expired or not in tls-ca.
  Result<SignedNode> Sign(const std::string& node, std::string_view request_pem, WallTime now) const
      EXCLUDES(mutex_);

  // CAs that nodes have to trust, PEM.
  std::string Authority() const;
  // SHA-256 of the CA that signed the certificate of fabricd. Empty: nodes need its file.
  std::string Pin() const;

 private:
  NodeCa(NodeCaOptions options, const tls::TlsFiles& tls);
  Status Read(WallTime now) EXCLUDES(mutex_);
  Result<SignedNode> SignWith(const tls::KeyAndCertificate& ca, const std::string& node,
                              std::string_view request_pem, WallTime now) const;

  const NodeCaOptions options_;
  const tls::TlsFiles& tls_;
  WatchedFile certificate_file_;
  WatchedFile key_file_;
  mutable Mutex mutex_;
  tls::KeyAndCertificate ca_ GUARDED_BY(mutex_);
};

}  // namespace fabric::join
