// JSON Web Signatures (RFC 7515, flattened) with Ed25519 (RFC 8037). Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/ed25519.h"
#include "base/status.h"

namespace fabric {

// Without padding (RFC 4648, section 5).
std::string ToBase64Url(std::string_view bytes);
// INVALID_ARGUMENT for padding, invalid characters and surplus bits.
Result<std::string> FromBase64Url(std::string_view text);

// The thumbprint of a key (RFC 7638): its ID in headers.
std::string KeyId(const PublicKey& key);
std::string Jwk(const PublicKey& key);  // {"crv":"Ed25519","kty":"OKP","x":"..."}

// Each part in base64url.
struct Signed {
  std::string header;  // "protected"
  std::string payload;
  std::string signature;
};

// Type of signed certificates. One key can sign texts of several types.
inline constexpr std::string_view kCertificateType = "fabric-certificate+json";

// `type` is the media type of the payload. The header includes the public key, which identifies the
// signer but does not prove anything: readers must know the keys they trust.
Signed SignJws(const SigningKey& key, std::string_view type, std::string_view payload);

// Verifies the text and returns the payload. PERMISSION_DENIED if `key` did not sign it;
// INVALID_ARGUMENT if the parts are malformed, or the header has another algorithm, another type
// than `type`, or critical extensions.
Result<std::string> OpenJws(const PublicKey& key, std::string_view type, const Signed& text);
// With a set of keys: the header names the key (kid). PERMISSION_DENIED if it is not in the set.
Result<std::string> OpenJws(std::span<const PublicKey> keys, std::string_view type,
                            const Signed& text);

}  // namespace fabric
