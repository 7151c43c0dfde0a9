#include <chrono>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/silence_table.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kSilenceAddOptions[] = {
    {.name = "finding", .value = "ID", .doc = "Silence this finding: its ID or a unique prefix."},
    {.name = "rule", .value = "RULE", .doc = "Silence findings of this rule."},
    NodesOption("node",
                "Silence findings about these nodes: n1,n2, gpu[001-016] or pool=h100. Each gets a "
                "silence."),
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

// The failure of a silence, with those that were added before it.
Status AfterSome(const v1::ListSilencesResponse& added, const Status& failure) {
  if (added.silences().empty()) return failure;
  std::vector<std::string> ids;
  for (const v1::Silence& silence : added.silences()) ids.push_back(silence.id());
  return failure.In("added the silences " + ListSome(ids, 8) + ", then");
}

// -o json prints one silence as such, several ones as a list.
Output AddedOutput(std::unique_ptr<v1::ListSilencesResponse> added) {
  Output output;
  for (const v1::Silence& silence : added->silences()) {
    output.before += Format("Silence {} of {} is active until {}.\n", silence.id(),
                            SilencedText(silence), ToString(silence.until()));
    output.names.push_back(silence.id());
  }
  if (added->silences_size() == 1)
    output.message = std::make_unique<v1::Silence>(added->silences(0));
  else
    output.message = std::move(added);
  return output;
}

Result<Output> RunSilenceAdd(Client& client, const Arguments& arguments, Stream&) {
  v1::CreateSilenceRequest request;
  v1::Silence& wanted = *request.mutable_silence();
  wanted.set_finding(arguments.Text("finding"));
  wanted.set_rule(arguments.Text("rule"));
  wanted.set_author(arguments.Text("author"));
  wanted.set_reason(arguments.Text("reason"));
  if (wanted.finding().empty() && wanted.rule().empty() && !arguments.Has("node"))
    return Status(Code::kInvalidArgument, "expected --finding, --rule or --node");
  if (wanted.author().empty())
    return Status(Code::kInvalidArgument, "--author is required if USER is not set");
  // The maximum of --for fits.
  request.set_duration_seconds(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(arguments.Duration("for")).count()));
  ASSIGN_OR_RETURN(std::vector<std::string> nodes, NodesOf(client, arguments, "node"));
  if (nodes.empty()) nodes.emplace_back();  // One silence, of a rule or a finding
  auto added = std::make_unique<v1::ListSilencesResponse>();
  for (const std::string& node : nodes) {
    wanted.set_node(node);
    auto silence = client.Call<v1::Silence>(request);
    if (!silence.ok()) return AfterSome(*added, silence.status());
    *added->add_silences() = *std::move(silence);
  }
  return AddedOutput(std::move(added));
}

}  // namespace

extern const Command silence_add = {
    .path = "silence add",
    .summary = "Silence a finding, a rule or a node for a limited time.",
    .description =
        "`findings` shows silenced findings only with --silenced, and the metric "
        "fabric_findings_open, which alerts use, does not count them. If several of --finding, "
        "--rule and --node are given, all must match. A silence ends automatically. A selector of "
        "labels, such as pool=h100, silences the nodes that it matches now.",
    .example =
        "fabricctl silence add --node n2 --for 2h --reason new-cable\n"
        "fabricctl silence add --node pool=h100,rack=r12 --for 4h --reason OPS-7\n"
        "fabricctl silence add --rule pfc_equal_on_rail --for 7d --reason OPS-7",
    .options = kSilenceAddOptions,
    .run = RunSilenceAdd,
};

}  // namespace fabric::ctl
