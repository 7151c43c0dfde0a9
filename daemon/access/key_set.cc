#include "daemon/access/key_set.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/jws.h"
#include "base/suggest.h"
#include "base/text.h"

namespace fabric::access {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kRsa = "RS256";
constexpr std::string_view kEc = "ES256";
constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;
constexpr std::size_t kCoordinateBytes = 32;
constexpr std::size_t kTokenBytesMax = 8 << 10;
constexpr std::size_t kKeysMax = 100;

struct FreeOpenssl {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(OSSL_PARAM_BLD* builder) const { OSSL_PARAM_BLD_free(builder); }
  void operator()(OSSL_PARAM* parameters) const { OSSL_PARAM_free(parameters); }
  void operator()(BIGNUM* number) const { BN_free(number); }
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenssl>;

const unsigned char* BytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Status BadKey(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

Status BadToken(std::string_view message) {
  return {Code::kUnauthenticated, Format("OIDC token: {}", message)};
}

// Empty: absent, or no text.
std::string Member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Result<std::string> BytesMember(const Json& object, const char* name) {
  auto bytes = FromBase64Url(Member(object, name));
  if (!bytes.ok()) return bytes.status().In(name);
  if (bytes->empty()) return BadKey(Format("expected a value of '{}', saw none", name));
  return bytes;
}

Owned<BIGNUM> NumberOf(std::string_view bytes) {
  return Owned<BIGNUM>(BN_bin2bn(BytesOf(bytes), static_cast<int>(bytes.size()), nullptr));
}

// A public key of these parameters that OpenSSL accepts, as DER.
Result<std::string> DerOf(const char* type, OSSL_PARAM_BLD* builder) {
  const Owned<OSSL_PARAM> parameters(OSSL_PARAM_BLD_to_param(builder));
  const Owned<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* made = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &made, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1)
    return BadKey(Format("expected an {} public key, saw values that are not one", type));
  const Owned<EVP_PKEY> key(made);
  const Owned<EVP_PKEY_CTX> check(EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr));
  if (check == nullptr || EVP_PKEY_public_check(check.get()) != 1)
    return BadKey(Format("expected an {} public key, saw values that are not one", type));
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key.get(), &der);
  if (size <= 0) return Status(Code::kInternal, "OpenSSL cannot write a public key");
  std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

Result<std::string> RsaDer(const Json& key) {
  ASSIGN_OR_RETURN(const std::string n, BytesMember(key, "n"));
  ASSIGN_OR_RETURN(const std::string e, BytesMember(key, "e"));
  if (n.size() * 8 > kRsaBitsMax + 8 || e.size() > 8)
    return BadKey(Format("expected an RSA key of at most {} bits, saw a longer one", kRsaBitsMax));
  const Owned<BIGNUM> modulus = NumberOf(n);
  const Owned<BIGNUM> exponent = NumberOf(e);
  const int bits = BN_num_bits(modulus.get());
  if (bits < kRsaBitsMin)
    return BadKey(Format("expected an RSA key of at least {} bits, saw {}", kRsaBitsMin, bits));
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  return DerOf("RSA", builder.get());
}

Result<std::string> EcDer(const Json& key) {
  ASSIGN_OR_RETURN(const std::string x, BytesMember(key, "x"));
  ASSIGN_OR_RETURN(const std::string y, BytesMember(key, "y"));
  if (x.size() != kCoordinateBytes || y.size() != kCoordinateBytes)
    return BadKey(Format("expected coordinates of 32 bytes, saw {} and {}", x.size(), y.size()));
  const std::string point = "\x04" + x + y;
  const Owned<OSSL_PARAM_BLD> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                   point.size());
  return DerOf("EC", builder.get());
}

// r and s as DER, which OpenSSL verifies. Empty: not a signature of ES256.
std::string DerSignature(std::string_view raw) {
  if (raw.size() != 2 * kCoordinateBytes) return {};
  const Owned<ECDSA_SIG> signature(ECDSA_SIG_new());
  Owned<BIGNUM> r = NumberOf(raw.substr(0, kCoordinateBytes));
  Owned<BIGNUM> s = NumberOf(raw.substr(kCoordinateBytes));
  if (ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) return {};
  (void)r.release();  // The signature owns them now.
  (void)s.release();
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return {};
  std::string text(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

bool Verifies(std::string_view der, std::string_view text, std::string_view signature) {
  const unsigned char* at = BytesOf(der);
  const Owned<EVP_PKEY> key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
  const Owned<EVP_MD_CTX> context(EVP_MD_CTX_new());
  return key != nullptr && context != nullptr && !signature.empty() &&
         EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), BytesOf(signature), signature.size(), BytesOf(text),
                          text.size()) == 1;
}

// The header of a token, if it can be verified.
Result<Json> HeaderOf(std::string_view part) {
  const auto text = FromBase64Url(part);
  const Json header = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  if (!header.is_object()) return BadToken("expected a header in JSON, saw another text");
  const std::string algorithm = Member(header, "alg");
  if (algorithm != kRsa && algorithm != kEc)
    return BadToken("alg: expected RS256 or ES256, saw " + Quoted(algorithm));
  if (header.contains("crit")) return BadToken("expected no critical extensions, saw 'crit'");
  return header;
}

}  // namespace

Result<std::optional<KeySet::Key>> KeySet::ReadKey(const std::string& json) {
  const Json fields = Json::parse(json, nullptr, false);
  if (!fields.is_object()) return BadKey("expected a key, saw another value");
  const std::string type = Member(fields, "kty");
  if (type == "oct" || fields.contains("d"))
    return BadKey("expected public keys, saw a secret one");
  Key key{.id = Member(fields, "kid"), .algorithm = {}, .der = {}};
  if (type == "RSA")
    key.algorithm = kRsa;
  else if (type == "EC" && Member(fields, "crv") == "P-256")
    key.algorithm = kEc;
  if (key.algorithm.empty() || (fields.contains("use") && Member(fields, "use") != "sig") ||
      (fields.contains("alg") && Member(fields, "alg") != key.algorithm))
    return std::optional<Key>();
  ASSIGN_OR_RETURN(key.der, key.algorithm == kRsa ? RsaDer(fields) : EcDer(fields));
  return std::optional<Key>(std::move(key));
}

Result<KeySet> KeySet::Parse(std::string_view json, std::string_view file) {
  const auto fail = [&](std::string_view message) {
    return Status(Code::kInvalidArgument, Format("{}: {}", file, message));
  };
  const Json set = json.size() > kKeySetBytesMax ? Json() : Json::parse(json, nullptr, false);
  const auto list = set.is_object() ? set.find("keys") : set.end();
  if (!set.is_object() || list == set.end() || !list->is_array() || list->size() > kKeysMax)
    return fail(
        Format("expected {{\"keys\": [...]}} with at most {} keys, saw another text", kKeysMax));
  KeySet keys;
  for (std::size_t i = 0; i < list->size(); ++i) {
    auto key = ReadKey((*list)[i].dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!key.ok()) return fail(Format("key {}: {}", i + 1, key.status().message()));
    if (!*key) continue;
    for (const Key& other : keys.keys_)
      if (other.id == (*key)->id)
        return fail(
            Format("key {}: expected each key id once, saw {} twice", i + 1, Quoted((*key)->id)));
    keys.keys_.push_back(std::move(**key));
  }
  if (keys.keys_.empty()) return fail("expected a key for RS256 or ES256, saw none");
  return keys;
}

const KeySet::Key* KeySet::Find(std::string_view id, std::string_view algorithm) const {
  for (const Key& key : keys_)
    if (key.algorithm == algorithm && (key.id == id || (id.empty() && keys_.size() == 1)))
      return &key;
  return nullptr;
}

bool KeySet::Knows(std::string_view token) const {
  if (token.size() > kTokenBytesMax) return true;
  const auto header = HeaderOf(token.substr(0, token.find('.')));
  return !header.ok() || Find(Member(*header, "kid"), Member(*header, "alg")) != nullptr;
}

Result<std::string> KeySet::Open(std::string_view token) const {
  const auto parts = Split(token, '.');
  if (token.size() > kTokenBytesMax || parts.size() != 3)
    return BadToken(Format("expected three parts of at most {} bytes", kTokenBytesMax));
  ASSIGN_OR_RETURN(const Json header, HeaderOf(parts[0]));
  const std::string algorithm = Member(header, "alg");
  const Key* const key = Find(Member(header, "kid"), algorithm);
  if (key == nullptr)
    return BadToken(Format("no key {} for {} is known", Quoted(Member(header, "kid")), algorithm));
  const auto signature = FromBase64Url(parts[2]);
  if (!signature.ok()) return BadToken("expected a signature in base64url");
  const std::string_view signed_part = token.substr(0, parts[0].size() + 1 + parts[1].size());
  if (!Verifies(key->der, signed_part, algorithm == kEc ? DerSignature(*signature) : *signature))
    return BadToken("the signature is not valid");
  const auto payload = FromBase64Url(parts[1]);
  if (!payload.ok()) return BadToken("expected a payload in base64url");
  return *payload;
}

}  // namespace fabric::access
