// Secrets with which nodes join: "fabric_join_SECRET" or "fabric_join_SECRET.PIN". PIN is the
// SHA-256 of the CA that signed the controller's certificate. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fabric {

inline constexpr std::string_view kJoinTokenPrefix = "fabric_join_";

struct JoinSecret {
  std::string secret;  // With the prefix, without the pin
  std::string pin;     // 64 hexadecimal digits; empty: the node needs a file of the CA
};

// INVALID_ARGUMENT, without the text, unless it has this form.
Result<JoinSecret> ParseJoinToken(std::string_view text);
std::string ToString(const JoinSecret& token);

}  // namespace fabric
