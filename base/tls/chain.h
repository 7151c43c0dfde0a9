// Verification of certificate chains against CAs and revocation lists. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/tls/openssl.h"

namespace fabric::tls {

// Of OpenSSL: keys, digests and ciphers have 112 bits of security or more, so no RSA of less than
// 2,048 bits and no SHA-1. Debian's OpenSSL has this default; others have 1.
inline constexpr int kSecurityLevel = 2;

// A store for OpenSSL: chains must end at a CA of `ca_pem`. With a CRL, the certificate must not be
// on it, and the CRL of its issuer must be present and not out of date.
Owned<X509_STORE> MakeStore(std::string_view ca_pem, std::string_view crl_pem);

// UNAUTHENTICATED with the reason and the names of the certificate: "certificate of
// spiffe://example.org/node/n1 refused: certificate revoked". The chain starts with the
// certificate.
Status VerifyClient(X509_STORE& store, std::string_view chain_pem);

// SHA-256 of the CA of `ca_pem` at which the chain ends, 64 hexadecimal digits. Empty: at none.
std::string FingerprintOfRoot(std::string_view ca_pem, std::string_view chain_pem);

// Reason of OpenSSL's verification in the words of an operator.
std::string ReasonOf(long verify_result);

}  // namespace fabric::tls
