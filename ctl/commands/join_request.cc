#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/join_words.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kJoinRequestListOptions[] = {kFilterOption};

Result<Output> RunJoinRequestList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListJoinRequestsRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListJoinRequestsResponse response,
                   client.List<v1::ListJoinRequestsResponse>(request));
  Output output;
  Table table{.columns = {{.title = "ID"},
                          {.title = "NODE"},
                          {.title = "STATE", .coloured = true},
                          {.title = "REQUESTED"},
                          {.title = "ADDRESS"},
                          {.title = "DECIDED BY"},
                          {.title = "KEY (SHA-256)", .wide_only = true}},
              .empty_note = "There are no certificate requests."};
  for (const v1::JoinRequest& one : response.requests()) {
    table.rows.push_back({Cell(one.id()), Cell(one.node()), Cell(JoinStateName(one.state())),
                          Cell(ToString(one.requested_at())), Cell(one.address()),
                          Cell(one.author().empty() ? "-" : one.author()),
                          Cell(one.key_fingerprint())});
    output.names.push_back(one.id());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListJoinRequestsResponse>(std::move(response));
  return output;
}

constexpr Option kJoinRequestIdOption = {
    .name = "ID", .value = "ID", .doc = "As in `join-request list`.", .required = true};

constexpr Option kJoinRequestApproveOptions[] = {
    kJoinRequestIdOption,
    {.name = "replace",
     .type = OptionType::kBool,
     .doc = "Also if the node has a valid certificate, such as after a reinstallation."},
};

Output OutputOf(v1::JoinRequest request) {
  Output output;
  output.before = Format("Request {} of node {}: {}.\n", request.id(), request.node(),
                         JoinStateName(request.state()));
  output.names.push_back(request.id());
  output.message = std::make_unique<v1::JoinRequest>(std::move(request));
  return output;
}

Result<Output> RunJoinRequestApprove(Client& client, const Arguments& arguments, Stream&) {
  v1::ApproveJoinRequestRequest request;
  request.set_id(arguments.Text("ID"));
  request.set_replace(arguments.Bool("replace"));
  ASSIGN_OR_RETURN(v1::JoinRequest decided, client.Call<v1::JoinRequest>(request));
  return OutputOf(std::move(decided));
}

constexpr Option kJoinRequestDenyOptions[] = {
    kJoinRequestIdOption,
    {.name = "reason", .value = "TEXT", .doc = "Reason, which the node logs."},
};

Result<Output> RunJoinRequestDeny(Client& client, const Arguments& arguments, Stream&) {
  v1::DenyJoinRequestRequest request;
  request.set_id(arguments.Text("ID"));
  request.set_reason(arguments.Text("reason"));
  ASSIGN_OR_RETURN(v1::JoinRequest decided, client.Call<v1::JoinRequest>(request));
  return OutputOf(std::move(decided));
}

constexpr Option kJoinNodesOptions[] = {kFilterOption};

Result<Output> RunJoinNodes(Client& client, const Arguments& arguments, Stream&) {
  v1::ListNodeCertificatesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListNodeCertificatesResponse response,
                   client.List<v1::ListNodeCertificatesResponse>(request));
  Output output;
  Table table{.columns = {{.title = "NODE"},
                          {.title = "EXPIRES"},
                          {.title = "ISSUED"},
                          {.title = "GRANTED BY"},
                          {.title = "SERIAL"},
                          {.title = "KEY (SHA-256)", .wide_only = true}},
              .empty_note = "fabricd has not signed a certificate of a node."};
  for (const v1::NodeCertificate& one : response.certificates()) {
    table.rows.push_back({Cell(one.node()), Cell(ToString(one.expires_at())),
                          Cell(ToString(one.issued_at())), Cell(one.granted_by()),
                          Cell(one.serial()), Cell(one.key_fingerprint())});
    output.names.push_back(one.node());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListNodeCertificatesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command join_request_list = {
    .path = "join-request list",
    .summary = "List the certificate requests of nodes without join token.",
    .description =
        "Compare the key (-o wide) with the one in the log of the agent before you approve a "
        "request. A request waits for 24 hours.",
    .example =
        "fabricctl join-request list -o wide\n"
        "fabricctl join-request list --filter 'node=~\"gpu-1.*\"'",
    .options = kJoinRequestListOptions,
    .run = RunJoinRequestList,
};

extern const Command join_request_approve = {
    .path = "join-request approve",
    .summary = "Approve the certificate request of a node.",
    .description = "The node gets its certificate when it asks next, within half a minute.",
    .example =
        "fabricctl join-request approve 5b1c6a0d9e3f4472\n"
        "fabricctl join-request approve 5b1c6a0d9e3f4472 --replace",
    .options = kJoinRequestApproveOptions,
    .run = RunJoinRequestApprove,
};

extern const Command join_request_deny = {
    .path = "join-request deny",
    .summary = "Deny the certificate request of a node.",
    .description = "The node cannot ask again with the same key for 24 hours.",
    .example =
        "fabricctl join-request deny 5b1c6a0d9e3f4472 --reason OPS-7\n"
        "fabricctl join-request deny 5b1c6a0d9e3f4472 --reason 'not in the inventory'",
    .options = kJoinRequestDenyOptions,
    .run = RunJoinRequestDeny,
};

extern const Command join_certificates = {
    .path = "join-certificates",
    .summary = "List the newest certificate that fabricd signed for each node.",
    .description =
        "To revoke one: `fabricctl pki revoke node NODE --serial SERIAL` in the folder of the CA.",
    .example =
        "fabricctl join-certificates\n"
        "fabricctl join-certificates --filter 'node=gpu-001' -o wide",
    .options = kJoinNodesOptions,
    .run = RunJoinNodes,
};

}  // namespace fabric::ctl
