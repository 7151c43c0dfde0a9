#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/coverage_lines.h"
#include "ctl/tables/finding_table.h"

namespace fabric::ctl {
namespace {

constexpr Option kValidateOptions[] = {kExplainedOption};

// "2 of 3 nodes judged; n1 lost since ..."
std::string JudgedText(const v1::ValidateResponse& response) {
  if (response.not_judged().empty()) return {};
  constexpr std::size_t kShownMax = 5;
  const auto all = static_cast<std::size_t>(response.not_judged_size());
  std::vector<std::string> shown;
  for (const v1::UnjudgedNode& node : response.not_judged())
    if (shown.size() < kShownMax) shown.push_back(Format("{} {}", node.name(), node.reason()));
  if (all > shown.size()) shown.push_back(Format("and {} more", all - shown.size()));
  return Format("{} of {} judged; {}\n", response.nodes(), Plural(response.nodes() + all, "node"),
                Join(shown, "; "));
}

Result<Output> RunValidate(Client& client, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(v1::ValidateResponse response,
                   client.Call<v1::ValidateResponse>(v1::ValidateRequest()));
  Output output;
  output.before = Format("{}, {}: {} pass, {} fail, {} unknown\n", Plural(response.nodes(), "node"),
                         Plural(response.rules(), "rule"), response.counts().pass(),
                         response.counts().fail(), response.counts().unknown());
  output.before += JudgedText(response);
  const bool explained = arguments.Bool("explained");
  if (!explained) output.after = ExplainedNote(response.findings());
  output.after += CoverageLines(response.coverage());
  output.tables.push_back(FindingTable(response.findings(), {.explained = explained}));
  output.names = FindingNames(response.findings());
  if (response.counts().fail() > 0) output.exit_status = kExitFindings;
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
        "Exits with 1 if a verdict is a failure.",
    .example =
        "fabricctl validate\n"
        "fabricctl validate --explained",
    .options = kValidateOptions,
    .run = RunValidate,
    .watch = true,
};

}  // namespace fabric::ctl
