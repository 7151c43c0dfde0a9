// JSON Web Signatures (RFC 7515, flattened) with Ed25519 (RFC 8037). Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/ed25519.h"
#include "base/status.h"

namespace fabric {

// Without padding (RFC 4648, section 5).
std::string ToBase64Url(std::string_view bytes);
// INVALID_ARGUMENT for padding, letters that it does not have, and bits that are left over.
Result<std::string> FromBase64Url(std::string_view text);

// The thumbprint of a key (RFC 7638), by which it is named in headers.
std::string KeyId(const PublicKey& key);
std::string Jwk(const PublicKey& key);  // {"crv":"Ed25519","kty":"OKP","x":"..."}

// Each part in base64url.
struct Signed {
  std::string header;  // Of what was signed: "protected"
  std::string payload;
  std::string signature;
};

// `type` is the media type of the payload, for the header. The header has the key as well, so that
// readers see who claims to have signed; whom to trust they have to know.
Signed SignJws(const SigningKey& key, std::string_view type, std::string_view payload);

// The payload. PERMISSION_DENIED when the signature is not that of `key`; INVALID_ARGUMENT when the
// parts are not what they should be.
Result<std::string> OpenJws(const PublicKey& key, const Signed& text);

}  // namespace fabric
