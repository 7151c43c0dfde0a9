// Certificate requests (PKCS #10): a program makes its key itself, and a CA signs the public part.
// Pure, but for MakeKey.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/tls/openssl.h"

namespace fabric::tls {

inline constexpr std::size_t kRequestBytesMax = 4096;

// A new P-256 key in PEM (PKCS #8). Secret.
Result<std::string> MakeKey();

// A request signed with the key. INVALID_ARGUMENT unless `key_pem` is a private key.
Result<std::string> MakeRequest(std::string_view key_pem, std::string_view common_name);

// The public key of a request. INVALID_ARGUMENT with expected and seen unless its own signature is
// right and the key is one of P-256 or P-384. Names and extensions of the request do not count.
Result<Owned<EVP_PKEY>> ReadRequest(std::string_view request_pem);

// SHA-256 of the public key (SubjectPublicKeyInfo, DER), 64 hexadecimal digits.
std::string FingerprintOf(EVP_PKEY& key);
Result<std::string> FingerprintOfKey(std::string_view key_pem);  // Of a private key
Result<std::string> FingerprintOfRequest(std::string_view request_pem);
// SHA-256 of a certificate (DER), 64 hexadecimal digits.
std::string FingerprintOf(X509& certificate);

}  // namespace fabric::tls
