// Keys of an OIDC issuer (RFC 7517) and tokens signed with them (RFC 7515, compact form): RS256 and
// ES256, nothing else. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::access {

inline constexpr std::size_t kKeySetBytesMax = 256 << 10;

class KeySet {
 public:
  KeySet() = default;
  // Keys of other types, of other algorithms and for encryption are skipped. INVALID_ARGUMENT, with
  // the file and the key, for a set without a usable key, with one key id twice, or with a secret.
  static Result<KeySet> Parse(std::string_view json, std::string_view file);

  // The payload of a token. UNAUTHENTICATED unless one of the keys signed it: the header names the
  // key, and the type of the key decides about the algorithm.
  Result<std::string> Open(std::string_view token) const;

  // False if Open() refuses the token because its key is not in the set, and not for another
  // reason.
  bool Knows(std::string_view token) const;

  std::size_t size() const { return keys_.size(); }

 private:
  struct Key {
    std::string id;         // Empty: the set has one key without an id
    std::string algorithm;  // "RS256", "ES256"
    std::string der;        // SubjectPublicKeyInfo
  };
  static Result<std::optional<Key>> ReadKey(const std::string& json);
  const Key* Find(std::string_view id, std::string_view algorithm) const;

  std::vector<Key> keys_;
};

}  // namespace fabric::access
