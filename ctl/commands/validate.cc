#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/coverage_lines.h"
#include "ctl/tables/finding_table.h"
#include "proto/affected.h"

namespace fabric::ctl {
namespace {

constexpr Option kValidateOptions[] = {kSelectorOption, kExplainedOption};

// "2 of 3 nodes judged; n1 lost since ..."
std::string JudgedText(const v1::ValidateResponse& response) {
  if (response.not_judged().empty()) return {};
  constexpr std::size_t kShownMax = 5;
  const auto all = static_cast<std::size_t>(response.not_judged_size());
  std::vector<std::string> shown;
  for (const v1::UnjudgedNode& node : response.not_judged())
    if (shown.size() < kShownMax) shown.push_back(Format("{} {}", node.name(), node.reason()));
  return Format("{} of {} judged; {}\n", response.nodes(), Plural(response.nodes() + all, "node"),
                ListSome(shown, kShownMax, all, "; "));
}

// Keeps what is about these nodes. Passes and the coverage are known of all nodes only.
void Select(const std::vector<std::string>& names, v1::ValidateResponse& response) {
  const NodeSet nodes(names.begin(), names.end());
  auto& findings = *response.mutable_findings();
  findings.erase(
      std::remove_if(findings.begin(), findings.end(),
                     [&](const v1::Finding& finding) { return !AffectsOneOf(finding, nodes); }),
      findings.end());
  KeepNodes(names, &v1::UnjudgedNode::name, *response.mutable_not_judged());
  response.set_nodes(static_cast<std::uint32_t>(names.size()) -
                     static_cast<std::uint32_t>(response.not_judged_size()));
  response.clear_counts();
  response.clear_coverage();
}

v1::VerdictCounts CountsOf(const v1::ValidateResponse& response) {
  v1::VerdictCounts counts = response.counts();
  for (const v1::Finding& finding : response.findings()) {
    if (response.has_counts()) break;
    if (finding.verdict() == v1::VERDICT_FAIL)
      counts.set_fail(counts.fail() + 1);
    else
      counts.set_unknown(counts.unknown() + 1);
  }
  return counts;
}

std::string OmittedText(const v1::ValidateResponse& response, bool selected) {
  const std::uint32_t omitted = response.findings_omitted();
  if (omitted == 0) return {};
  return Format("{} left out of {}: see `fabricctl findings --unknown`.\n",
                Plural(omitted, "verdict") + (omitted == 1 ? " is" : " are"),
                selected ? "the answer, perhaps also of these nodes" : "the answer");
}

// Whether the answer has fewer failures than were counted.
bool LeavesOutFailures(const v1::ValidateResponse& response) {
  const auto shown = std::count_if(
      response.findings().begin(), response.findings().end(),
      [](const v1::Finding& finding) { return finding.verdict() == v1::VERDICT_FAIL; });
  return static_cast<std::uint64_t>(shown) < response.counts().fail();
}

Result<Output> RunValidate(Client& client, const Arguments& arguments, Stream&) {
  const bool selected = arguments.Has("selector");
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NodesOf(client, arguments, ""));
  ASSIGN_OR_RETURN(v1::ValidateResponse response,
                   client.Call<v1::ValidateResponse>(v1::ValidateRequest()));
  const bool undecided = selected && LeavesOutFailures(response);
  if (selected) Select(names, response);
  const v1::VerdictCounts counts = CountsOf(response);
  Output output;
  output.before =
      Format("{}, {}: {}{} fail, {} unknown\n", Plural(response.nodes(), "node"),
             Plural(response.rules(), "rule"), selected ? "" : Format("{} pass, ", counts.pass()),
             counts.fail(), counts.unknown());
  output.before += JudgedText(response) + OmittedText(response, selected);
  const bool explained = arguments.Bool("explained");
  if (!explained) output.after = ExplainedNote(response.findings());
  if (!selected) output.after += CoverageLines(response.coverage());
  output.tables.push_back(FindingTable(response.findings(), {.explained = explained}));
  output.names = FindingNames(response.findings());
  if (undecided) output.exit_status = kExitUnknown;
  if (counts.fail() > 0) output.exit_status = kExitFindings;
  output.message = std::make_unique<v1::ValidateResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command validate = {
    .path = "validate",
    .summary =
        "Evaluate every rule now; print the verdict counts and the verdicts that are not a pass.",
    .description =
        "Unknown means that a value the rule needs could not be read; it never counts as a pass. "
        "With --selector, shows the verdicts that concern nodes with these labels; passes are not "
        "counted. Exits with 1 if a verdict is a failure, and with 6 if the answer leaves out "
        "failures that can concern the selected nodes.",
    .example =
        "fabricctl validate\n"
        "fabricctl validate --explained\n"
        "fabricctl validate -l pool=h100",
    .options = kValidateOptions,
    .run = RunValidate,
    .watch = true,
};

}  // namespace fabric::ctl
