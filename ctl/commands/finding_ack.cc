#include "base/text.h"
#include "ctl/client.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "ID",
     .value = "ID",
     .doc = "As `findings -o wide` shows it, or the beginning of it.",
     .required = true},
    {.name = "note", .value = "TEXT", .doc = "What is done about it.", .required = true},
    {.name = "author", .value = "NAME", .doc = "Who acknowledges it: else $USER."},
};

Result<Output> RunFindingAck(Client& client, const Arguments& arguments, Stream&) {
  v1::AcknowledgeFindingRequest request;
  request.set_id(arguments.Text("ID"));
  request.set_note(arguments.Text("note"));
  request.set_author(arguments.Text("author"));
  if (request.author().empty())
    return Status(Code::kInvalidArgument, "finding ack: expected --author, as USER is not set");
  ASSIGN_OR_RETURN(v1::Finding finding, client.AcknowledgeFinding(request));
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
    .summary = "Say that you have seen a finding and what is done about it.",
    .description =
        "It stays open and goes on alerting; that it is acknowledged is forgotten once it is "
        "resolved. To be left alone by it for a time: `silence add`.",
    .example = "fabricctl finding ack 6d1f --note cable-ordered",
    .options = kOptions,
    .run = RunFindingAck,
};

}  // namespace fabric::ctl
