#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/join_words.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kJoinTokenCreateOptions[] = {
    {.name = "NAME", .value = "NAME", .doc = "Name of the token: rack-12.", .required = true},
    {.name = "nodes",
     .value = "PATTERN",
     .doc = "Names of the nodes that can join with it: gpu-*. Default: all names."},
    {.name = "uses",
     .type = OptionType::kNumber,
     .fallback = "1",
     .min = "1",
     .max = "10000",
     .doc = "Number of nodes that can join with it."},
    {.name = "expires",
     .type = OptionType::kDuration,
     .fallback = "1h",
     .min = "1m",
     .max = "30d",
     .doc = "Validity period of the token."},
    {.name = "replace",
     .type = OptionType::kBool,
     .doc = "Also for nodes that have a valid certificate, such as after a reinstallation."},
};

Result<Output> RunJoinTokenCreate(Client& client, const Arguments& arguments, Stream&) {
  v1::CreateJoinTokenRequest request;
  request.mutable_token()->set_name(arguments.Text("NAME"));
  request.mutable_token()->set_nodes(arguments.Text("nodes"));
  request.mutable_token()->set_uses_max(arguments.Number("uses"));
  request.mutable_token()->set_replace(arguments.Bool("replace"));
  request.set_lifetime_seconds(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(arguments.Duration("expires")).count()));
  ASSIGN_OR_RETURN(v1::JoinToken token, client.Call<v1::JoinToken>(request));
  Output output;
  output.before = Format("Join token, shown once: {}\nExpires:                {}\n", token.token(),
                         ToString(token.expires_at()));
  if (token.token().find('.') == std::string::npos)
    output.before += "It has no hash of a CA: set tls-ca of the agents.\n";
  output.names.push_back(token.token());
  output.message = std::make_unique<v1::JoinToken>(std::move(token));
  return output;
}

constexpr Option kJoinTokenListOptions[] = {kFilterOption};

Result<Output> RunJoinTokenList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListJoinTokensRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListJoinTokensResponse response,
                   client.List<v1::ListJoinTokensResponse>(request));
  Output output;
  Table table{.columns = {{.title = "NAME"},
                          {.title = "NODES"},
                          {.title = "USES"},
                          {.title = "EXPIRES"},
                          {.title = "AUTHOR"},
                          {.title = "REPLACE", .wide_only = true}},
              .empty_note = "There are no join tokens."};
  for (const v1::JoinToken& token : response.tokens()) {
    table.rows.push_back({Cell(token.name()), Cell(token.nodes().empty() ? "*" : token.nodes()),
                          Cell(UsesOf(token)), Cell(ToString(token.expires_at())),
                          Cell(token.author()), Cell(token.replace() ? "yes" : "no")});
    output.names.push_back(token.name());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListJoinTokensResponse>(std::move(response));
  return output;
}

constexpr Option kJoinTokenDeleteOptions[] = {
    {.name = "NAME", .value = "NAME", .doc = "As in `join-token list`.", .required = true},
};

Result<Output> RunJoinTokenDelete(Client& client, const Arguments& arguments, Stream&) {
  v1::DeleteJoinTokenRequest request;
  request.set_name(arguments.Text("NAME"));
  ASSIGN_OR_RETURN(v1::JoinToken token, client.Call<v1::JoinToken>(request));
  Output output;
  output.before = Format("Join token {} is deleted.\n", token.name());
  output.names.push_back(token.name());
  output.message = std::make_unique<v1::JoinToken>(std::move(token));
  return output;
}

}  // namespace

extern const Command join_token_create = {
    .path = "join-token create",
    .summary = "Make a token with which nodes get their first certificate.",
    .description =
        "Prints the token once. Write it to the file of the agent's setting join-token, with mode "
        "0600. The part after the dot is the hash of the controller's CA: the agent needs no "
        "file of the CA. The controller keeps the hash of the token only.",
    .example =
        "fabricctl join-token create rack-12 --nodes 'gpu-12*' --uses 16 --expires 4h\n"
        "fabricctl join-token create reinstall --nodes gpu-001 --replace",
    .options = kJoinTokenCreateOptions,
    .run = RunJoinTokenCreate,
};

extern const Command join_token_list = {
    .path = "join-token list",
    .summary = "List the join tokens and how often they were used.",
    .description = "Tokens stay in the list for 7 days after they expire.",
    .example =
        "fabricctl join-token list\n"
        "fabricctl join-token list -o name",
    .options = kJoinTokenListOptions,
    .run = RunJoinTokenList,
};

extern const Command join_token_delete = {
    .path = "join-token delete",
    .summary = "Delete a join token.",
    .description = "Certificates of nodes that joined with it stay valid.",
    .example =
        "fabricctl join-token delete rack-12\n"
        "fabricctl join-token delete reinstall",
    .options = kJoinTokenDeleteOptions,
    .run = RunJoinTokenDelete,
};

}  // namespace fabric::ctl
