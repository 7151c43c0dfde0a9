#include "base/tls/request.h"

#include <openssl/ec.h>
#include <openssl/pem.h>

#include <array>

#include "base/text.h"

namespace fabric::tls {
namespace {

Status NoRequest(std::string_view seen) {
  return {Code::kInvalidArgument,
          Format("certificate request: expected PKCS #10 in PEM with a key of P-256 or P-384, saw "
                 "{}",
                 seen)};
}

bool IsAccepted(const EVP_PKEY& key) {
  std::array<char, 32> group{};
  if (EVP_PKEY_get_group_name(&key, group.data(), group.size(), nullptr) != 1) return false;
  const std::string_view name(group.data());
  return name == SN_X9_62_prime256v1 || name == SN_secp384r1;
}

std::string Hexadecimal(const unsigned char* bytes, unsigned int size) {
  std::string digits;
  for (unsigned int n = 0; n < size; ++n) digits += Format("{:02x}", bytes[n]);
  return digits;
}

}  // namespace

Result<std::string> MakeKey() {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailed("make a P-256 key");
  return KeyPem(*key);
}

Result<std::string> MakeRequest(std::string_view key_pem, std::string_view common_name) {
  const Owned<EVP_PKEY> key = ReadPrivateKey(key_pem);
  if (key == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("expected a private key in PEM, saw {}", KindOfPem(key_pem)));
  const Owned<X509_REQ> request(X509_REQ_new());
  const bool done = X509_REQ_set_version(request.get(), 0) == 1 &&
                    X509_NAME_add_entry_by_NID(
                        X509_REQ_get_subject_name(request.get()), NID_commonName, MBSTRING_UTF8,
                        reinterpret_cast<const unsigned char*>(common_name.data()),
                        static_cast<int>(common_name.size()), -1, 0) == 1 &&
                    X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                    X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0;
  if (!done) return OpenSslFailed("make a certificate request for " + Quoted(common_name));
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_REQ(bio.get(), request.get());
  return TextOf(bio.get());
}

Result<Owned<EVP_PKEY>> ReadRequest(std::string_view request_pem) {
  if (request_pem.size() > kRequestBytesMax)
    return NoRequest(
        Format("{} bytes; at most {} are accepted", request_pem.size(), kRequestBytesMax));
  const Owned<X509_REQ> request = ReadCertificateRequest(request_pem);
  if (request == nullptr) {
    const std::string_view seen = KindOfPem(request_pem);
    return NoRequest(seen == "a certificate request" ? "one that is malformed" : seen);
  }
  Owned<EVP_PKEY> key(X509_REQ_get_pubkey(request.get()));
  if (key == nullptr || !IsAccepted(*key)) {
    (void)TakeOpenSslError();
    return NoRequest("another kind of key");
  }
  // Shows that the sender has the private key.
  const bool valid = X509_REQ_verify(request.get(), key.get()) == 1;
  (void)TakeOpenSslError();
  if (!valid) return NoRequest("a signature of another key");
  return key;
}

std::string FingerprintOf(EVP_PKEY& key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(&key, &der);
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int hash_size = 0;
  const bool hashed = size > 0 && EVP_Digest(der, static_cast<std::size_t>(size), hash.data(),
                                             &hash_size, EVP_sha256(), nullptr) == 1;
  OPENSSL_free(der);
  return hashed ? Hexadecimal(hash.data(), hash_size) : std::string();
}

Result<std::string> FingerprintOfKey(std::string_view key_pem) {
  const Owned<EVP_PKEY> key = ReadPrivateKey(key_pem);
  if (key == nullptr)
    return Status(Code::kInvalidArgument,
                  Format("expected a private key in PEM, saw {}", KindOfPem(key_pem)));
  return FingerprintOf(*key);
}

Result<std::string> FingerprintOfRequest(std::string_view request_pem) {
  ASSIGN_OR_RETURN(const Owned<EVP_PKEY> key, ReadRequest(request_pem));
  return FingerprintOf(*key);
}

std::string FingerprintOf(X509& certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), hash.data(), &size) != 1) return {};
  return Hexadecimal(hash.data(), size);
}

}  // namespace fabric::tls
