#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kFindingsOptions[] = {
    NodesOption("node",
                "Show only findings about these nodes: n1,n2, gpu[001-016,20] or pool=h100."),
    kSelectorOption,
    {.name = "rule", .value = "RULE", .doc = "Show only findings of this rule."},
    {.name = "severity", .choices = "info|warning|error|critical", .doc = "Minimum severity."},
    kFilterOption,
    kSinceOption,
    {.name = "all", .type = OptionType::kBool, .doc = "Include resolved findings."},
    kExplainedOption,
    {.name = "silenced", .type = OptionType::kBool, .doc = "Include silenced findings."},
    {.name = "unknown",
     .type = OptionType::kBool,
     .doc = "Include unknown verdicts: rules that could not be evaluated because a value was not "
            "readable."},
};

v1::Severity SeverityNamed(std::string_view name) {
  if (name == "info") return v1::SEVERITY_INFO;
  if (name == "warning") return v1::SEVERITY_WARNING;
  if (name == "error") return v1::SEVERITY_ERROR;
  return name == "critical" ? v1::SEVERITY_CRITICAL : v1::SEVERITY_UNSPECIFIED;
}

// Removes the silenced findings that are not resolved, and returns their number.
std::size_t HideSilenced(google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  const auto silenced = [](const v1::Finding& finding) {
    return finding.has_silenced() && finding.state() != v1::FINDING_STATE_RESOLVED;
  };
  const auto first = std::remove_if(findings.begin(), findings.end(), silenced);
  const auto count = static_cast<std::size_t>(findings.end() - first);
  findings.erase(first, findings.end());
  return count;
}

Result<Output> RunFindings(Client& client, const Arguments& arguments, Stream& stream) {
  v1::ListFindingsRequest request;
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(client, arguments, "node"));
  request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
  request.set_rule(arguments.Text("rule"));
  request.set_min_severity(SeverityNamed(arguments.Text("severity")));
  request.set_filter(arguments.Text("filter"));
  request.set_include_resolved(arguments.Bool("all"));
  request.set_include_unknown(arguments.Bool("unknown"));
  ASSIGN_OR_RETURN(v1::ListFindingsResponse response,
                   client.List<v1::ListFindingsResponse>(request));
  if (arguments.Has("since")) {
    const WallTime first = stream.Now() - arguments.Duration("since");
    auto& findings = *response.mutable_findings();
    const auto is_old = [&](const v1::Finding& finding) {
      return FromProto(finding.opened_at()) < first && FromProto(finding.changed_at()) < first &&
             FromProto(finding.resolved_at()) < first;
    };
    findings.erase(std::remove_if(findings.begin(), findings.end(), is_old), findings.end());
  }
  Output output;
  if (!arguments.Bool("silenced"))
    if (const std::size_t hidden = HideSilenced(*response.mutable_findings()); hidden > 0)
      output.after = Format("{} not shown; use --silenced.\n", Plural(hidden, "silenced finding"));
  const bool explained = arguments.Bool("explained");
  if (!explained) output.after += ExplainedNote(response.findings());
  output.tables.push_back(
      FindingTable(response.findings(),
                   {.state = arguments.Bool("all"), .explained = explained, .now = stream.Now()}));
  output.names = FindingNames(response.findings());
  if (AnyFailing(response.findings())) output.exit_status = kExitFindings;
  output.message = std::make_unique<v1::ListFindingsResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command findings = {
    .path = "findings",
    .summary = "List the open findings.",
    .description =
        "The first characters of an ID are enough for `finding show` and `finding ack`. -o wide "
        "adds the opening time, the expected and seen values, and the command that fixes it. "
        "Findings with a common cause are shown as one; --explained also shows the explained "
        "findings. Silenced findings are only counted. Exits with 1 if an open finding fails and "
        "is not silenced.",
    .example =
        "fabricctl findings --node n2 -o wide\n"
        "fabricctl findings --severity error --since 1h",
    .options = kFindingsOptions,
    .run = RunFindings,
    .watch = true,
};

}  // namespace fabric::ctl
