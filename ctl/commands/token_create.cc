#include <google/protobuf/struct.pb.h>

#include <algorithm>

#include "base/clock.h"
#include "base/secret.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "proto/roles.h"

namespace fabric::ctl {
namespace {

constexpr std::string_view kTokenPrefix = "fabric_";

constexpr Option kTokenCreateOptions[] = {
    {.name = "NAME", .doc = "Name of the person or program.", .required = true},
    {.name = "role",
     .type = OptionType::kWords,
     .value = "ROLE",
     .doc = "Roles: viewer, operator, admin, metrics.",
     .required = true},
    {.name = "expires",
     .type = OptionType::kDuration,
     .min = "1m",
     .max = "3650d",
     .doc = "Validity period. Default: the token does not expire."},
};

Result<Token> TokenOf(const Arguments& arguments) {
  Token token{.name = arguments.Text("NAME"), .hash = {}, .roles = {}};
  RETURN_IF_ERROR(CheckTokenName(token.name).In("NAME"));
  auto roles = ParseRoles(arguments.Words("role"));
  if (!roles.ok()) return roles.status().In("--role");
  token.roles = *std::move(roles);
  if (std::ranges::find(token.roles, v1::ROLE_AGENT) != token.roles.end())
    return Status(Code::kInvalidArgument,
                  "--role: expected viewer, operator, admin or metrics, saw agent: agents need a "
                  "certificate that names their node");
  if (arguments.Given("expires"))
    token.expires_at = SystemClock().Now().wall + arguments.Duration("expires");
  return token;
}

Result<Output> RunTokenCreate(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(Token token, TokenOf(arguments));
  ASSIGN_OR_RETURN(const std::string secret, MakeSecret(kTokenPrefix));
  token.hash = HashOfSecret(secret);
  const std::string line = TokenLine(token);
  Output output;
  output.before = Format(
      "Token, shown once: {}\nLine for the file of fabricd's setting tokens:\n{}", secret, line);
  output.names.push_back(secret);
  auto message = std::make_unique<google::protobuf::Struct>();
  (*message->mutable_fields())["token"].set_string_value(secret);
  (*message->mutable_fields())["line"].set_string_value(line);
  output.message = std::move(message);
  return output;
}

}  // namespace

extern const Command token_create = {
    .path = "token create",
    .summary = "Make a bearer token for a person or a program.",
    .description =
        "Prints the token once, and the line for the file of tokens, which has only the hash. Add "
        "the line to the file of fabricd's setting tokens; fabricd reads it within 2 s. Remove the "
        "line to revoke the token.",
    .example =
        "fabricctl token create ci --role operator --expires 90d\n"
        "fabricctl token create grafana --role viewer",
    .options = kTokenCreateOptions,
    .run = RunTokenCreate,
    .offline = true,
};

}  // namespace fabric::ctl
