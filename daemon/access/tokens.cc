#include "daemon/access/tokens.h"

#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/ed25519.h"
#include "base/jws.h"
#include "base/text.h"
#include "daemon/access/access_file.h"
#include "daemon/access/policy.h"
#include "proto/timestamps.h"

namespace fabric::access {
namespace {

constexpr std::string_view kPrefix = "fabric_";
constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kNameBytesMax = 64;
constexpr std::array<std::string_view, 4> kTokenKeys = {"name", "sha256", "roles", "expires"};

bool IsHash(std::string_view text) {
  return text.size() == kHashDigits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<Token> ReadToken(const FileEntry& entry) {
  RETURN_IF_ERROR(entry.CheckKeys(kTokenKeys));
  Token token;
  ASSIGN_OR_RETURN(token.name, entry.Text("name"));
  if (const Status name = CheckTokenName(token.name); !name.ok())
    return entry.Error("name", name.message());
  ASSIGN_OR_RETURN(token.hash, entry.Text("sha256"));
  if (!IsHash(token.hash))
    return entry.Error("sha256", "expected 64 hexadecimal digits in lower case");
  ASSIGN_OR_RETURN(token.roles, entry.Roles("roles"));
  if (std::ranges::find(token.roles, v1::ROLE_AGENT) != token.roles.end())
    return entry.Error("roles",
                       "expected roles of people and programs, saw agent: agents need a "
                       "certificate that names their node");
  if (!entry.Has("expires")) return token;
  ASSIGN_OR_RETURN(const std::string expires, entry.Text("expires"));
  google::protobuf::Timestamp at;
  if (!google::protobuf::util::TimeUtil::FromString(expires, &at) || !IsValid(at))
    return entry.Error("expires",
                       "expected a time such as 2027-02-21T00:00:00Z, saw " + Quoted(expires));
  token.expires_at = FromProto(at);
  return token;
}

}  // namespace

Result<std::string> MakeToken() {
  std::string secret(kSecretBytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) != 1)
    return Status(Code::kInternal, "OpenSSL has no random bytes");
  return std::string(kPrefix) + ToBase64Url(secret);
}

std::string HashOf(std::string_view token) {
  std::string digits;
  for (const char byte : Sha256(token))
    digits += Format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  return digits;
}

Status CheckTokenName(const std::string& name) {
  const bool plain = std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._@-").find(c) != std::string_view::npos;
  });
  if (plain && !name.empty() && name.size() <= kNameBytesMax) return {};
  return {Code::kInvalidArgument,
          Format("expected 1 to {} letters, digits and characters of '._@-', saw {}", kNameBytesMax,
                 Quoted(name))};
}

std::string ToLine(const Token& token) {
  std::vector<std::string> roles;
  for (const v1::Role role : token.roles) roles.push_back(RoleName(role));
  // Quoted: a hash of digits alone is a number otherwise.
  return Format(
      "- {{name: \"{}\", sha256: \"{}\", roles: [{}]{}}}\n", token.name, token.hash,
      Join(roles, ", "),
      token.expires_at ? Format(", expires: \"{}\"", ToString(ToProto(*token.expires_at))) : "");
}

Result<TokenList> TokenList::Parse(std::string_view yaml, std::string_view file) {
  TokenList list;
  const Status status = ReadEntries(yaml, file, [&](const FileEntry& entry) -> Status {
    ASSIGN_OR_RETURN(Token token, ReadToken(entry));
    for (const Token& other : list.tokens_) {
      if (other.name == token.name)
        return entry.Error("name",
                           Format("expected each name once, saw {} twice", Quoted(token.name)));
      if (other.hash == token.hash)
        return entry.Error(
            "sha256", Format("expected each hash once, saw that of {} again", Quoted(other.name)));
    }
    list.tokens_.push_back(std::move(token));
    return {};
  });
  if (!status.ok()) return status;
  return list;
}

const Token* TokenList::Find(std::string_view token) const {
  const std::string hash = HashOf(token);
  const Token* found = nullptr;
  for (const Token& known : tokens_)
    if (CRYPTO_memcmp(known.hash.data(), hash.data(), kHashDigits) == 0) found = &known;
  return found;
}

}  // namespace fabric::access
