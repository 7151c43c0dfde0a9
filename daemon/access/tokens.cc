#include "daemon/access/tokens.h"

#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/secret.h"
#include "base/text.h"
#include "daemon/access/access_file.h"
#include "proto/timestamps.h"

namespace fabric::access {
namespace {

constexpr std::array<std::string_view, 4> kTokenKeys = {"name", "sha256", "roles", "expires"};

Result<Token> ReadToken(const FileEntry& entry) {
  RETURN_IF_ERROR(entry.CheckKeys(kTokenKeys));
  Token token;
  ASSIGN_OR_RETURN(token.name, entry.Text("name"));
  if (const Status name = CheckTokenName(token.name); !name.ok())
    return entry.Error("name", name.message());
  ASSIGN_OR_RETURN(token.hash, entry.Text("sha256"));
  if (!IsHashOfSecret(token.hash))
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

Result<TokenList> TokenList::Parse(std::string_view yaml, std::string_view file) {
  TokenList list;
  std::set<std::string> names;
  const Status status = ReadEntries(yaml, file, [&](const FileEntry& entry) -> Status {
    ASSIGN_OR_RETURN(Token token, ReadToken(entry));
    if (!names.insert(token.name).second)
      return entry.Error("name",
                         Format("expected each name once, saw {} twice", Quoted(token.name)));
    const auto [at, added] = list.tokens_.try_emplace(token.hash, token);
    if (!added)
      return entry.Error("sha256", Format("expected each hash once, saw that of {} again",
                                          Quoted(at->second.name)));
    return {};
  });
  if (!status.ok()) return status;
  return list;
}

const Token* TokenList::Find(std::string_view token) const {
  const auto at = tokens_.find(HashOfSecret(token));
  return at == tokens_.end() ? nullptr : &at->second;
}

}  // namespace fabric::access
