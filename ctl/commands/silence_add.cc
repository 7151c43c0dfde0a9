#include <chrono>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/tables/silence_table.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "finding", .value = "ID", .doc = "This finding; the beginning of its id will do."},
    {.name = "rule", .value = "RULE", .doc = "Findings of this rule."},
    {.name = "node", .value = "NAME", .doc = "Findings about this node."},
    {.name = "for",
     .type = OptionType::kDuration,
     .min = "1s",
     .max = "30d",
     .doc = "How long: 30m, 2h, 7d; 30 days at most.",
     .required = true},
    {.name = "reason", .value = "TEXT", .doc = "Why, for those who wonder.", .required = true},
    {.name = "author", .value = "NAME", .doc = "Who silences: else $USER."},
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
    return Status(Code::kInvalidArgument,
                  "silence add: expected --finding, --rule or --node, saw none of them");
  if (wanted.author().empty())
    return Status(Code::kInvalidArgument, "silence add: expected --author, as USER is not set");
  // The longest duration that the command line takes fits.
  request.set_duration_seconds(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(arguments.Duration("for")).count()));
  ASSIGN_OR_RETURN(v1::Silence silence, client.CreateSilence(request));
  Output output;
  output.before = Format("Silence {} of {} holds until {}.\n", silence.id(), SilencedText(silence),
                         ToString(silence.until()));
  output.names.push_back(silence.id());
  output.message = std::make_unique<v1::Silence>(std::move(silence));
  return output;
}

}  // namespace

extern const Command silence_add = {
    .path = "silence add",
    .summary = "Silence a finding, a rule or a node for a time.",
    .description =
        "Silenced findings are kept and marked, left out of `findings` unless --silenced is "
        "given, and do not count in the metric fabric_findings_open, which alerts look at. With "
        "several of --finding, --rule and --node, all must match. It ends by itself.",
    .example = "fabricctl silence add --node n2 --for 2h --reason new-cable",
    .options = kOptions,
    .run = RunSilenceAdd,
};

}  // namespace fabric::ctl
