// OpenSSL contexts of servers and clients: TLS 1.3 only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/status.h"
#include "base/tls/openssl.h"
#include "base/tls/tls_files.h"

namespace fabric::tls {

// Clients may present a certificate; one that is presented is verified.
Result<Owned<SSL_CTX>> MakeServerContext(const TlsMaterial& material);

// Does not verify the server: the caller looks at SSL_get_verify_result.
Result<Owned<SSL_CTX>> MakeClientContext(const TlsMaterial& material);

// For HTTPS servers that are not fabricd: TLS 1.2 or newer, also after RequireTls13. Verifies the
// server against `ca_pem`; empty: the CAs of the system. INVALID_ARGUMENT without a CA.
Result<Owned<SSL_CTX>> MakeHttpsContext(std::string_view ca_pem);
// The certificate of the server must have this name or address.
void ExpectServer(SSL& session, const std::string& host);

// Makes sessions of a server with the current files. Thread-safe. The files must outlive it.
class ServerSessions {
 public:
  explicit ServerSessions(const TlsFiles& files) : files_(files) {}

  // For one connection.
  Result<Owned<SSL>> Make() EXCLUDES(mutex_);

 private:
  const TlsFiles& files_;
  Mutex mutex_;
  std::uint64_t version_ GUARDED_BY(mutex_) = 0;  // Of the files in context_
  Owned<SSL_CTX> context_ GUARDED_BY(mutex_);
};

}  // namespace fabric::tls
