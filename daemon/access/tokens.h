// Static bearer tokens: 256 random bits, kept as SHA-256. Tokens need no salt and no slow hash,
// because they are not chosen by people. Pure, but for MakeToken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/access.pb.h"

namespace fabric::access {

// A new token: "fabric_" and 43 characters. Secret.
Result<std::string> MakeToken();
// SHA-256, 64 hexadecimal digits.
std::string HashOf(std::string_view token);

struct Token {
  std::string name;  // "ci"; letters, digits and any of ._@-
  std::string hash;
  std::vector<v1::Role> roles;
  std::optional<WallTime> expires_at = {};
};

// INVALID_ARGUMENT unless tokens can have this name.
Status CheckTokenName(const std::string& name);

// The line of the token file, with its newline:
// - {name: ci, sha256: 9f..., roles: [operator], expires: 2027-02-21T00:00:00Z}
std::string ToLine(const Token& token);

class TokenList {
 public:
  TokenList() = default;
  // Refuses names and hashes that occur twice, and the role agent: an agent proves its node by a
  // certificate. INVALID_ARGUMENT with file, position, expected and seen; never with a hash.
  static Result<TokenList> Parse(std::string_view yaml, std::string_view file);

  // nullptr: the list has no such token. The time that it takes does not depend on the hashes.
  const Token* Find(std::string_view token) const;
  std::size_t size() const { return tokens_.size(); }

 private:
  std::vector<Token> tokens_;
};

}  // namespace fabric::access
