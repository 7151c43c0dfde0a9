// Ed25519 keys (RFC 8032), by OpenSSL. Values; safe to use from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric {

class PublicKey {
 public:
  // The 32 bytes of RFC 8032. INVALID_ARGUMENT for another length.
  static Result<PublicKey> FromRaw(std::string_view bytes);
  // "-----BEGIN PUBLIC KEY-----", as `openssl pkey -pubout` writes it. INVALID_ARGUMENT with the
  // expected and the actual kind; `file` is the name in the message.
  static Result<PublicKey> FromPem(const std::string& pem, std::string_view file);

  const std::string& raw() const { return raw_; }
  std::string ToPem() const;
  bool Verifies(std::string_view message, std::string_view signature) const;

  friend bool operator==(const PublicKey&, const PublicKey&) = default;

 private:
  friend class SigningKey;
  std::string raw_;
};

class SigningKey {
 public:
  static Result<SigningKey> Generate();
  // "-----BEGIN PRIVATE KEY-----" (PKCS #8), as `openssl genpkey -algorithm ed25519` writes it, not
  // encrypted. Errors as above; they never contain a part of the text.
  static Result<SigningKey> FromPem(const std::string& pem, std::string_view file);

  std::string ToPem() const;
  const PublicKey& Public() const { return public_; }
  std::string Sign(std::string_view message) const;  // 64 bytes

 private:
  std::string seed_;
  PublicKey public_;
};

// All keys of a PEM text, at most 16, one after the other. Errors as those of FromPem.
Result<std::vector<PublicKey>> PublicKeysFromPem(std::string_view pem, std::string_view file);
Result<std::vector<SigningKey>> SigningKeysFromPem(std::string_view pem, std::string_view file);

// 32 bytes.
std::string Sha256(std::string_view bytes);

}  // namespace fabric
