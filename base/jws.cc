#include "base/jws.h"

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::string_view kAlgorithm = "EdDSA";

using Json = nlohmann::ordered_json;

// The members in the order of RFC 7638, so that the text gives the thumbprint.
Json JwkOf(const PublicKey& key) {
  return {{"crv", "Ed25519"}, {"kty", "OKP"}, {"x", ToBase64Url(key.raw())}};
}

bool Has(const Json& fields, std::string_view name, std::string_view text) {
  const auto at = fields.find(name);
  return at != fields.end() && at->is_string() && at->get_ref<const std::string&>() == text;
}

std::string SignedPart(const Signed& text) {
  return Format("{}.{}", text.header, text.payload);
}

}  // namespace

std::string ToBase64Url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (held += 8; held >= 6; held -= 6) text += kLetters[bits >> (held - 6) & 63];
  }
  if (held > 0) text += kLetters[bits << (6 - held) & 63];
  return text;
}

Result<std::string> FromBase64Url(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char letter : text) {
    const std::size_t value = kLetters.find(letter);
    if (value == std::string_view::npos)
      return Status(Code::kInvalidArgument,
                    "expected base64url without padding, saw " + Quoted({&letter, 1}));
    bits = (bits << 6 | static_cast<std::uint32_t>(value)) & 0xffffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255);
  }
  const std::uint32_t left = bits & ((1U << held) - 1);
  if (held == 6 || left != 0)
    return Status(Code::kInvalidArgument, "expected base64url, saw an incomplete text");
  return bytes;
}

std::string Jwk(const PublicKey& key) {
  return JwkOf(key).dump();
}

std::string KeyId(const PublicKey& key) {
  return ToBase64Url(Sha256(Jwk(key)));
}

Signed SignJws(const SigningKey& key, std::string_view type, std::string_view payload) {
  const Json header = {{"alg", kAlgorithm},
                       {"typ", type},
                       {"kid", KeyId(key.Public())},
                       {"jwk", JwkOf(key.Public())}};
  Signed text{
      .header = ToBase64Url(header.dump()), .payload = ToBase64Url(payload), .signature = {}};
  text.signature = ToBase64Url(key.Sign(SignedPart(text)));
  return text;
}

Result<std::string> OpenJws(const PublicKey& key, std::string_view type, const Signed& text) {
  return OpenJws(std::span(&key, 1), type, text);
}

Result<std::string> OpenJws(std::span<const PublicKey> keys, std::string_view type,
                            const Signed& text) {
  const auto header = FromBase64Url(text.header);
  if (!header.ok()) return header.status().In("protected");
  auto payload = FromBase64Url(text.payload);
  if (!payload.ok()) return payload.status().In("payload");
  const auto signature = FromBase64Url(text.signature);
  if (!signature.ok()) return signature.status().In("signature");
  const Json fields = Json::parse(*header, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object())
    return Status(Code::kInvalidArgument, "protected: expected a JSON object");
  if (!Has(fields, "alg", kAlgorithm))
    return Status(Code::kInvalidArgument,
                  Format("protected: expected the algorithm {}, saw another", kAlgorithm));
  if (!Has(fields, "typ", type))
    return Status(Code::kInvalidArgument,
                  Format("protected: expected the type {}, saw another", type));
  if (fields.contains("crit"))
    return Status(Code::kInvalidArgument, "protected: critical extensions are not supported");
  std::string ids;
  for (const PublicKey& key : keys) {
    const std::string id = KeyId(key);
    ids += (ids.empty() ? "" : " or ") + id;
    // Other programs need not name the key.
    if (fields.contains("kid") && !Has(fields, "kid", id)) continue;
    if (key.Verifies(SignedPart(text), *signature)) return payload;
    if (fields.contains("kid"))
      return Status(Code::kPermissionDenied,
                    "the signature is invalid: the text was changed after it was signed");
  }
  return Status(Code::kPermissionDenied, Format("the text was not signed with the key {}", ids));
}

}  // namespace fabric
