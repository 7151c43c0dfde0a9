#include <chrono>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/silence_table.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kSilenceAddOptions[] = {
    {.name = "finding", .value = "ID", .doc = "Silence this finding: its ID or a unique prefix."},
    {.name = "rule", .value = "RULE", .doc = "Silence findings of this rule."},
    {.name = "node", .value = "NAME", .doc = "Silence findings about this node."},
    {.name = "for",
     .type = OptionType::kDuration,
     .min = "1s",
     .max = "30d",
     .doc = "Duration of the silence: 30m, 2h, 7d.",
     .required = true},
    {.name = "reason", .value = "TEXT", .doc = "Reason, shown with the silence.", .required = true},
    {.name = "author",
     .value = "NAME",
     .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."},
};

Result<Output> RunSilenceAdd(Client& client, const Arguments& arguments, Stream&) {
  v1::CreateSilenceRequest request;
  v1::Silence& wanted = *request.mutable_silence();
  wanted.set_finding(arguments.Text("finding"));
  wanted.set_rule(arguments.Text("rule"));
  wanted.set_node(arguments.Text("node"));
  wanted.set_author(arguments.Text("author"));
  wanted.set_reason(arguments.Text("reason"));
  if (wanted.finding().empty() && wanted.rule().empty() && wanted.node().empty())
    return Status(Code::kInvalidArgument, "expected --finding, --rule or --node");
  if (wanted.author().empty())
    return Status(Code::kInvalidArgument, "--author is required if USER is not set");
  // The maximum of --for fits.
  request.set_duration_seconds(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(arguments.Duration("for")).count()));
  ASSIGN_OR_RETURN(v1::Silence silence, client.Call<v1::Silence>(request));
  Output output;
  output.before = Format("Silence {} of {} is active until {}.\n", silence.id(),
                         SilencedText(silence), ToString(silence.until()));
  output.names.push_back(silence.id());
  output.message = std::make_unique<v1::Silence>(std::move(silence));
  return output;
}

}  // namespace

extern const Command silence_add = {
    .path = "silence add",
    .summary = "Silence a finding, a rule or a node for a limited time.",
    .description =
        "`findings` shows silenced findings only with --silenced, and the metric "
        "fabric_findings_open, which alerts use, does not count them. If several of --finding, "
        "--rule and --node are given, all must match. A silence ends automatically.",
    .example =
        "fabricctl silence add --node n2 --for 2h --reason new-cable\n"
        "fabricctl silence add --rule pfc_equal_on_rail --for 7d --reason OPS-7",
    .options = kSilenceAddOptions,
    .run = RunSilenceAdd,
};

}  // namespace fabric::ctl
