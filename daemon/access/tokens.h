// Static bearer tokens of a site. Pure.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"
#include "proto/roles.h"

namespace fabric::access {

class TokenList {
 public:
  TokenList() = default;
  // Refuses names and hashes that occur twice, and the role agent: an agent proves its node by a
  // certificate. INVALID_ARGUMENT with file, position, expected and seen; never with a hash.
  static Result<TokenList> Parse(std::string_view yaml, std::string_view file);

  // nullptr: the list has no such token. It is found by its hash, so that the time of the search
  // reveals nothing about the token.
  const Token* Find(std::string_view token) const;
  std::size_t size() const { return tokens_.size(); }

 private:
  std::map<std::string, Token, std::less<>> tokens_;  // By hash
};

}  // namespace fabric::access
