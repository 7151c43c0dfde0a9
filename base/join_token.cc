#include "base/join_token.h"

#include <algorithm>
#include <cctype>

#include "base/secret.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kSecretCharacters = 43;  // 256 bits in base64url

}  // namespace

Result<JoinSecret> ParseJoinToken(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view secret = text.substr(0, dot);
  const std::string_view pin = dot == text.npos ? std::string_view() : text.substr(dot + 1);
  const bool plain = std::ranges::all_of(secret, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
  if (plain && secret.starts_with(kJoinTokenPrefix) &&
      secret.size() == kJoinTokenPrefix.size() + kSecretCharacters &&
      (dot == text.npos || IsHashOfSecret(pin)))
    return JoinSecret{.secret = std::string(secret), .pin = std::string(pin)};
  return Status(Code::kInvalidArgument,
                Format("expected a join token ({}...) as fabricctl join-token create prints it, "
                       "saw another text of {} bytes",
                       kJoinTokenPrefix, text.size()));
}

std::string ToString(const JoinSecret& token) {
  return token.pin.empty() ? token.secret : token.secret + "." + token.pin;
}

}  // namespace fabric
