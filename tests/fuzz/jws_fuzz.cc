// Signed texts, keys and join tokens: whatever they hold, nothing is opened that was not signed,
// and what is base64url is so in one way alone.
#include "base/join_token.h"
#include "base/jws.h"
#include "base/text.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const fabric::SigningKey key = *fabric::SigningKey::Generate();
  const auto parts = fabric::Split(text, '.');
  fabric::Signed read{.header = std::string(parts[0]), .payload = {}, .signature = {}};
  if (parts.size() > 1) read.payload = parts[1];
  if (parts.size() > 2) read.signature = parts[2];
  Check(!fabric::OpenJws(key.Public(), "t", read).ok(), "what was not signed is not opened");
  const auto bytes = fabric::FromBase64Url(text);
  if (bytes.ok()) Check(fabric::ToBase64Url(*bytes) == text, "base64url has one form");
  (void)fabric::SigningKey::FromPem(std::string(text), "f").ok();
  (void)fabric::PublicKey::FromPem(std::string(text), "f").ok();
  (void)fabric::SigningKeysFromPem(text, "f").ok();
  (void)fabric::PublicKeysFromPem(text, "f").ok();
  const auto join = fabric::ParseJoinToken(text);
  if (join.ok()) Check(ToString(*join) == text, "a join token has one form");
  const fabric::Signed own = fabric::SignJws(key, "t", text);
  Check(*fabric::OpenJws(key.Public(), "t", own) == text, "what was signed is opened");
  return 0;
}
