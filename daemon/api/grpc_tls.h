// TLS of the gRPC listener. Heavy headers; include it where the server is built.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/tls/memory_file.h"
#include "base/tls/openssl.h"
#include "base/tls/tls_files.h"

namespace fabric::api {

// gRPC's own counted pointer.
using ServerCredentials = decltype(grpc::InsecureServerCredentials());

// Clients may present a certificate. One that is presented must be valid and not revoked, also with
// the CAs and CRLs of later files. gRPC takes new certificates and CAs from files only, and would
// also take a pair that does not match: it reads files in memory that hold what TlsFiles accepted.
class GrpcTls {
 public:
  // `files` must outlive it, and it the server.
  static Result<std::unique_ptr<GrpcTls>> Make(const tls::TlsFiles& files);

  const ServerCredentials& credentials() const { return credentials_; }

  // Uses the current content of the files for new connections, within about 1 s.
  Status Update() EXCLUDES(mutex_);

  // UNAUTHENTICATED with the reason. `chain_pem` starts with the certificate of the client. A
  // certificate that was valid is not verified again for a minute, unless the files change.
  Status Verify(std::string_view chain_pem) const EXCLUDES(mutex_);

 private:
  GrpcTls(const tls::TlsFiles& files, tls::MemoryFile identity, tls::MemoryFile ca);

  const tls::TlsFiles& files_;
  tls::MemoryFile identity_;  // Key and chain, so that they are replaced together
  tls::MemoryFile ca_;
  mutable Mutex mutex_;
  tls::Owned<X509_STORE> store_ GUARDED_BY(mutex_);
  // When certificates were verified, by their SHA-256
  mutable std::map<std::string, SteadyTime> verified_ GUARDED_BY(mutex_);
  ServerCredentials credentials_;
};

}  // namespace fabric::api
