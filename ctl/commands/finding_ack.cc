#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr Option kFindingAckOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "ID of the finding, as in `findings`, or a unique prefix.",
     .required = true},
    {.name = "note", .value = "TEXT", .doc = "Note about the action taken.", .required = true},
    {.name = "author",
     .value = "NAME",
     .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."},
};

Result<Output> RunFindingAck(Client& client, const Arguments& arguments, Stream&) {
  v1::AcknowledgeFindingRequest request;
  request.set_id(arguments.Text("ID"));
  request.set_note(arguments.Text("note"));
  request.set_author(arguments.Text("author"));
  if (request.author().empty())
    return Status(Code::kInvalidArgument, "--author is required if USER is not set");
  ASSIGN_OR_RETURN(v1::Finding finding, client.Call<v1::Finding>(request));
  Output output;
  output.before =
      Format("Finding {} ({} {}) is acknowledged by {}.\n", finding.id(), finding.rule(),
             SubjectName(finding.subject()), finding.acknowledged().author());
  output.names.push_back(finding.id());
  output.message = std::make_unique<v1::Finding>(std::move(finding));
  return output;
}

}  // namespace

extern const Command finding_ack = {
    .path = "finding ack",
    .summary = "Acknowledge a finding.",
    .description =
        "The finding stays open and keeps alerting; the acknowledgement is cleared when it "
        "resolves. To suppress alerts, use `silence add`.",
    .example =
        "fabricctl finding ack 6d1f --note cable-ordered\n"
        "fabricctl finding ack 6d1f --note 'new cable on Monday' --author ada",
    .options = kFindingAckOptions,
    .run = RunFindingAck,
};

}  // namespace fabric::ctl
