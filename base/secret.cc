#include "base/secret.h"

#include <openssl/rand.h>

#include <algorithm>
#include <cctype>

#include "base/ed25519.h"
#include "base/jws.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kNameBytesMax = 64;

}  // namespace

Result<std::string> MakeSecret(std::string_view prefix) {
  std::string secret(kSecretBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) != 1)
    return Status(Code::kInternal, "OpenSSL has no random bytes");
  return std::string(prefix) + ToBase64Url(secret);
}

std::string HashOfSecret(std::string_view secret) {
  std::string digits;
  for (const char byte : Sha256(secret))
    digits += Format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return digits;
}

bool IsHashOfSecret(std::string_view text) {
  return text.size() == kHashDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Status CheckTokenName(std::string_view name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._@-").find(c) != std::string_view::npos;
  });
  if (plain && !name.empty() && name.size() <= kNameBytesMax) return {};
  return {Code::kInvalidArgument,
          Format("expected 1 to {} letters, digits and characters of '._@-', saw {}", kNameBytesMax,
                 Quoted(name))};
}

}  // namespace fabric
