// An OIDC issuer for tests: keys, key sets and tokens.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <vector>

#include "base/jws.h"
#include "base/text.h"

namespace fabric::testing {

// A private key of an issuer.
class IssuerKey {
 public:
  static IssuerKey Rsa(unsigned bits = 2048) { return IssuerKey(EVP_RSA_gen(bits)); }
  static IssuerKey Ec() { return IssuerKey(EVP_EC_gen("P-256")); }

  std::string Jwk(const std::string& id) const {
    if (EVP_PKEY_is_a(key_.get(), "RSA") == 1)
      return Format(R"({{"kty":"RSA","use":"sig","kid":"{}","n":"{}","e":"{}"}})", id,
                    Number(OSSL_PKEY_PARAM_RSA_N), Number(OSSL_PKEY_PARAM_RSA_E));
    return Format(R"({{"kty":"EC","crv":"P-256","kid":"{}","x":"{}","y":"{}"}})", id,
                  Number(OSSL_PKEY_PARAM_EC_PUB_X, 32), Number(OSSL_PKEY_PARAM_EC_PUB_Y, 32));
  }
  std::string Sign(const std::string& text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    std::size_t size = 1024;
    std::string bytes(size, '\0');
    EXPECT_EQ(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()), 1);
    EXPECT_EQ(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size,
                             reinterpret_cast<const unsigned char*>(text.data()), text.size()),
              1);
    bytes.resize(size);
    return EVP_PKEY_is_a(key_.get(), "RSA") == 1 ? bytes : Raw(bytes);
  }

 private:
  explicit IssuerKey(EVP_PKEY* key) : key_(key, &EVP_PKEY_free) {}

  std::string Number(const char* name, int bytes = 0) const {
    BIGNUM* number = nullptr;
    EXPECT_EQ(EVP_PKEY_get_bn_param(key_.get(), name, &number), 1);
    std::string text(static_cast<std::size_t>(bytes == 0 ? BN_num_bytes(number) : bytes), '\0');
    BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()),
                 static_cast<int>(text.size()));
    BN_free(number);
    return ToBase64Url(text);
  }
  // r and s, 32 bytes each.
  static std::string Raw(const std::string& der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    ECDSA_SIG* const signature = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    std::string raw(64, '\0');
    auto* const out = reinterpret_cast<unsigned char*>(raw.data());
    BN_bn2binpad(ECDSA_SIG_get0_r(signature), out, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(signature), out + 32, 32);
    ECDSA_SIG_free(signature);
    return raw;
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

inline std::string SetOf(const std::vector<std::string>& keys) {
  return Format(R"({{"keys":[{}]}})", Join(keys, ","));
}

inline std::string TokenOf(const IssuerKey& key, const std::string& header,
                           const std::string& claims) {
  const std::string text = ToBase64Url(header) + "." + ToBase64Url(claims);
  return text + "." + ToBase64Url(key.Sign(text));
}

}  // namespace fabric::testing
