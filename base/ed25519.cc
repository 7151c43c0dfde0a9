#include "base/ed25519.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <utility>

#include "base/no_passphrase.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;
using Bio = std::unique_ptr<BIO, Free>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key PrivateOf(std::string_view seed) {
  return Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(seed), seed.size()));
}

Key PublicOf(std::string_view raw) {
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(raw), raw.size()));
}

using ReadRaw = int (*)(const EVP_PKEY*, unsigned char*, std::size_t*);

std::string RawOf(const EVP_PKEY* key, ReadRaw read) {
  std::array<unsigned char, kKeyBytes> bytes{};
  std::size_t size = bytes.size();
  if (read(key, bytes.data(), &size) != 1 || size != bytes.size()) return {};
  return {bytes.begin(), bytes.end()};
}

std::string TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

// The kind of the text, for messages, which must not contain the text itself.
std::string_view Kind(std::string_view pem) {
  if (pem.find("-----BEGIN ENCRYPTED PRIVATE KEY-----") != std::string_view::npos)
    return "an encrypted private key";
  if (pem.find("PRIVATE KEY-----") != std::string_view::npos) return "a private key";
  if (pem.find("-----BEGIN PUBLIC KEY-----") != std::string_view::npos) return "a public key";
  if (pem.find("-----BEGIN CERTIFICATE-----") != std::string_view::npos)
    return "an X.509 certificate";
  if (pem.find("-----BEGIN ") != std::string_view::npos) return "another kind of PEM";
  return pem.empty() ? "an empty file" : "text that is not PEM";
}

Status Wrong(std::string_view file, std::string_view wanted, std::string_view seen) {
  return {Code::kInvalidArgument, Format("{}: expected {}, saw {}", file, wanted, seen)};
}

// Empty for an Ed25519 key.
std::string OtherKind(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "ED25519") == 1) return {};
  const char* const name = EVP_PKEY_get0_type_name(key);
  return Format("a key of type {}", name == nullptr ? "unknown" : name);
}

constexpr std::size_t kKeysMax = 16;

// Each with its end line. A text without any is one part, which its reader refuses.
std::vector<std::string> PartsOfPem(std::string_view pem) {
  constexpr std::string_view kEnd = "-----END ";
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = pem.find(kEnd);
    if (end == pem.npos) break;
    const std::size_t line = std::min(pem.find('\n', end), pem.size());
    parts.emplace_back(pem.substr(0, line));
    pem.remove_prefix(line);
  }
  if (parts.empty()) parts.emplace_back(pem);
  return parts;
}

template <class T>
Result<std::vector<T>> KeysFromPem(std::string_view pem, std::string_view file) {
  std::vector<T> keys;
  for (const std::string& part : PartsOfPem(pem)) {
    if (keys.size() == kKeysMax)
      return Status(Code::kInvalidArgument,
                    Format("{}: expected at most {} keys, saw more", file, kKeysMax));
    ASSIGN_OR_RETURN(T key, T::FromPem(part, file));
    keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

Result<PublicKey> PublicKey::FromRaw(std::string_view bytes) {
  if (bytes.size() != kKeyBytes)
    return Status(Code::kInvalidArgument,
                  Format("expected an Ed25519 key of {} bytes, saw {}", kKeyBytes, bytes.size()));
  PublicKey made;
  made.raw_ = bytes;
  return made;
}

Result<PublicKey> PublicKey::FromPem(const std::string& pem, std::string_view file) {
  constexpr std::string_view kWanted =
      "an Ed25519 public key in PEM (openssl pkey -in KEY.pem -pubout)";
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return Wrong(file, kWanted, Kind(pem));
  if (const std::string other = OtherKind(key.get()); !other.empty())
    return Wrong(file, kWanted, other);
  return FromRaw(RawOf(key.get(), EVP_PKEY_get_raw_public_key));
}

std::string PublicKey::ToPem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  const Key key = PublicOf(raw_);
  if (PEM_write_bio_PUBKEY(bio.get(), key.get()) != 1) return {};
  return TextOf(bio.get());
}

bool PublicKey::Verifies(std::string_view message, std::string_view signature) const {
  if (signature.size() != kSignatureBytes) return false;
  const Key key = PublicOf(raw_);
  const Context context(EVP_MD_CTX_new());
  return key != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(message),
                          message.size()) == 1;
}

Result<SigningKey> SigningKey::Generate() {
  const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (key == nullptr) return Status(Code::kInternal, "OpenSSL cannot make an Ed25519 key");
  SigningKey made;
  made.seed_ = RawOf(key.get(), EVP_PKEY_get_raw_private_key);
  ASSIGN_OR_RETURN(made.public_, PublicKey::FromRaw(RawOf(key.get(), EVP_PKEY_get_raw_public_key)));
  return made;
}

Result<SigningKey> SigningKey::FromPem(const std::string& pem, std::string_view file) {
  constexpr std::string_view kWanted =
      "an Ed25519 private key in PEM without passphrase (openssl genpkey -algorithm ed25519)";
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr) return Wrong(file, kWanted, Kind(pem));
  if (const std::string other = OtherKind(key.get()); !other.empty())
    return Wrong(file, kWanted, other);
  SigningKey made;
  made.seed_ = RawOf(key.get(), EVP_PKEY_get_raw_private_key);
  ASSIGN_OR_RETURN(made.public_, PublicKey::FromRaw(RawOf(key.get(), EVP_PKEY_get_raw_public_key)));
  return made;
}

Result<std::vector<PublicKey>> PublicKeysFromPem(std::string_view pem, std::string_view file) {
  return KeysFromPem<PublicKey>(pem, file);
}

Result<std::vector<SigningKey>> SigningKeysFromPem(std::string_view pem, std::string_view file) {
  return KeysFromPem<SigningKey>(pem, file);
}

std::string SigningKey::ToPem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  const Key key = PrivateOf(seed_);
  if (PEM_write_bio_PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return {};
  return TextOf(bio.get());
}

std::string SigningKey::Sign(std::string_view message) const {
  const Key key = PrivateOf(seed_);
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  const bool done =
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestSign(context.get(), signature.data(), &size, Bytes(message), message.size()) == 1;
  assert(done && size == signature.size());
  return done ? std::string(signature.begin(), signature.end()) : std::string();
}

std::string Sha256(std::string_view bytes) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(Bytes(bytes), bytes.size(), digest.data());
  return {digest.begin(), digest.end()};
}

}  // namespace fabric
