// Actions on nodes: drains and taints that programs of schedulers propose.
#include <algorithm>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "proto/node_actions.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kIdOption = {
    .name = "ID", .value = "ID", .doc = "ID of the action, as in `remedy list`.", .required = true};
constexpr Option kAuthorOption = {
    .name = "author",
    .value = "NAME",
    .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."};
constexpr Option kNoteOption = {
    .name = "note", .value = "TEXT", .doc = "Note for the history of the action."};

constexpr Option kRemedyListOptions[] = {
    {.name = "all",
     .type = OptionType::kBool,
     .doc = "Also show the actions that are ended: reverted, rejected, failed, expired."},
    kFilterOption,
};
constexpr Option kRemedyDecideOptions[] = {kIdOption, kNoteOption, kAuthorOption};
constexpr Option kRemedyProposeOptions[] = {
    {.name = "NODE", .value = "NODE", .doc = "Name of a node, as in `nodes`.", .required = true},
    {.name = "kind",
     .choices = "slurm-drain|kubernetes-taint",
     .doc = "Kind of the action.",
     .required = true},
    {.name = "reason", .value = "TEXT", .doc = "Cause, for people.", .required = true},
    {.name = "evidence", .value = "TEXT", .doc = "ID of a finding or certificate, or a file."},
    kAuthorOption,
};
constexpr Option kRemedyReportOptions[] = {
    kIdOption,
    {.name = "STATE",
     .value = "STATE",
     .choices = "applied|reverted|failed",
     .doc = "What was done.",
     .required = true},
    kNoteOption,
    kAuthorOption,
};

std::string LimitsText(const v1::NodeActionLimits& limits) {
  if (limits.mode() == "off")
    return "Actions on nodes are off: set remediation to approve or automatic in fabricd.\n";
  return Format("Remediation: {}. Approved in the last hour: {} of {}. Nodes: {} of {}.\n",
                limits.mode(), limits.last_hour(), limits.per_hour_max(), limits.nodes(),
                limits.nodes_max());
}

Result<Output> RunRemedyList(Client& client, const Arguments& arguments, Stream&) {
  v1::ListNodeActionsRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListNodeActionsResponse response,
                   client.List<v1::ListNodeActionsResponse>(request));
  if (!arguments.Bool("all")) {
    auto& actions = *response.mutable_node_actions();
    const auto is_ended = [](const v1::NodeAction& action) { return !IsOpen(action.state()); };
    actions.erase(std::remove_if(actions.begin(), actions.end(), is_ended), actions.end());
  }
  Output output;
  output.before = LimitsText(response.limits());
  Table table{.columns = {{.title = "ID"},
                          {.title = "KIND"},
                          {.title = "NODE"},
                          {.title = "STATE", .coloured = true},
                          {.title = "SINCE"},
                          {.title = "AUTHOR"},
                          {.title = "REASON", .elastic = true},
                          {.title = "NOTE", .wide_only = true},
                          {.title = "EVIDENCE", .wide_only = true}},
              .empty_note = "There are no actions."};
  for (const v1::NodeAction& action : response.node_actions()) {
    const v1::NodeActionChange last =
        action.history().empty() ? v1::NodeActionChange() : *action.history().rbegin();
    table.rows.push_back({Cell(action.id()), Cell(Name(action.kind())), Cell(action.node()),
                          Cell(Name(action.state())), Cell(ToString(last.at())),
                          Cell(last.author()), Cell(action.reason()), Cell(last.note()),
                          Cell(action.evidence())});
    output.names.push_back(action.id());
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListNodeActionsResponse>(std::move(response));
  return output;
}

// Says what happens next.
std::string_view Next(v1::NodeActionState state) {
  switch (state) {
    case v1::NODE_ACTION_STATE_PROPOSED: return "It waits for `fabricctl remedy approve`.";
    case v1::NODE_ACTION_STATE_APPROVED: return "Its program applies it.";
    case v1::NODE_ACTION_STATE_REVERTING: return "Its program undoes it.";
    default: return {};
  }
}

Output Shown(v1::NodeAction action) {
  Output output;
  const std::string_view next = Next(action.state());
  output.before = Format("Action {} ({} of {}) is {}.{}{}\n", action.id(), Name(action.kind()),
                         action.node(), Name(action.state()), next.empty() ? "" : " ", next);
  output.names.push_back(action.id());
  output.message = std::make_unique<v1::NodeAction>(std::move(action));
  return output;
}

template <class Request>
Result<Output> Decide(Client& client, const Arguments& arguments, Request request) {
  request.set_id(arguments.Text("ID"));
  request.set_note(arguments.Text("note"));
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::NodeAction action, client.Call<v1::NodeAction>(request));
  return Shown(std::move(action));
}

Result<Output> RunRemedyApprove(Client& client, const Arguments& arguments, Stream&) {
  return Decide(client, arguments, v1::ApproveNodeActionRequest());
}

Result<Output> RunRemedyRevert(Client& client, const Arguments& arguments, Stream&) {
  return Decide(client, arguments, v1::RevertNodeActionRequest());
}

Result<Output> RunRemedyReport(Client& client, const Arguments& arguments, Stream&) {
  v1::ReportNodeActionRequest request;
  ASSIGN_OR_RETURN(const v1::NodeActionState state, ParseNodeActionState(arguments.Text("STATE")));
  request.set_state(state);
  return Decide(client, arguments, std::move(request));
}

Result<Output> RunRemedyPropose(Client& client, const Arguments& arguments, Stream&) {
  v1::ProposeNodeActionRequest request;
  ASSIGN_OR_RETURN(const v1::NodeActionKind kind, ParseNodeActionKind(arguments.Text("kind")));
  request.set_kind(kind);
  request.set_node(arguments.Text("NODE"));
  request.set_reason(arguments.Text("reason"));
  request.set_evidence(arguments.Text("evidence"));
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::NodeAction action, client.Call<v1::NodeAction>(request));
  return Shown(std::move(action));
}

}  // namespace

extern const Command remedy_list = {
    .path = "remedy list",
    .summary = "List drains and taints of nodes, and what the limits permit.",
    .description =
        "The programs for Slurm and Kubernetes propose actions. With the setting remediation: "
        "approve, an action waits until you approve it. STATE is proposed, approved, applied or "
        "reverting; --all adds reverted, rejected, failed and expired. SINCE and AUTHOR are of the "
        "last change.",
    .example =
        "fabricctl remedy list\n"
        "fabricctl remedy list --all --filter 'node=n1' -o wide",
    .options = kRemedyListOptions,
    .run = RunRemedyList,
    .watch = true,
};

extern const Command remedy_approve = {
    .path = "remedy approve",
    .summary = "Approve a drain or taint that a program proposes.",
    .description =
        "The program then drains or taints the node: the scheduler starts nothing new on it, and "
        "what runs continues. The identity that proposed an action cannot approve it. The limits "
        "remediation-per-hour and remediation-percent apply.",
    .example =
        "fabricctl remedy approve a3\n"
        "fabricctl remedy approve a3 --note \"cable is ordered\"",
    .options = kRemedyDecideOptions,
    .run = RunRemedyApprove,
};

extern const Command remedy_revert = {
    .path = "remedy revert",
    .summary = "Reject an action that is proposed, or undo one that is applied.",
    .description =
        "The program resumes the node or removes the taint when it looks next. No program can "
        "propose an action of this kind for this node for 24 hours.",
    .example =
        "fabricctl remedy revert a3\n"
        "fabricctl remedy revert a3 --note \"node is needed tonight\"",
    .options = kRemedyDecideOptions,
    .run = RunRemedyRevert,
};

extern const Command remedy_propose = {
    .path = "remedy propose",
    .summary = "Propose a drain or taint of a node, for programs of schedulers.",
    .description =
        "Prints the open action of this kind and node if there is one. Apply it only if its state "
        "is approved, then run `remedy report`. Exit status 5: the setting remediation is off, a "
        "limit is reached, or a person ended such an action in the last 24 hours.",
    .example =
        "fabricctl remedy propose n1 --kind slurm-drain --reason \"mlx5_0/1 is down\"\n"
        "fabricctl remedy propose n1 --kind kubernetes-taint --reason slow --evidence f7",
    .options = kRemedyProposeOptions,
    .run = RunRemedyPropose,
};

extern const Command remedy_report = {
    .path = "remedy report",
    .summary = "Report that an action is applied, reverted or failed, for programs of schedulers.",
    .description = "A repeated report changes nothing.",
    .example =
        "fabricctl remedy report a3 applied\n"
        "fabricctl remedy report a3 failed --note \"no such node in Slurm\"",
    .options = kRemedyReportOptions,
    .run = RunRemedyReport,
};

}  // namespace fabric::ctl
