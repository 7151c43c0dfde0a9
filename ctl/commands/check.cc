#include <algorithm>
#include <map>
#include <optional>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/commands/rule_files.h"
#include "ctl/item_progress.h"
#include "ctl/profiles.h"
#include "ctl/snapshots.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/coverage_lines.h"
#include "ctl/tables/finding_table.h"
#include "daemon/custom/node_rules.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {
namespace {

constexpr Option kCheckOptions[] = {
    {.name = "SNAPSHOT",
     .type = OptionType::kPath,
     .doc = "Output of `fabric-agent inspect -o json` on each node; - is standard input.",
     .required = true,
     .repeated = true},
    {.name = "profile",
     .value = "NAME|FILE",
     .doc = "Profile with the expected values: a built-in profile or a file."},
    {.name = "rules",
     .type = OptionType::kPath,
     .doc = "Custom rules to evaluate in addition to the built-in rules."},
    kExplainedOption,
};

Result<Output> RunCheck(Client&, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const profile::Profile profile, FindProfile(arguments.Text("profile")));
  const std::vector<std::string> files = arguments.All("SNAPSHOT");
  FileProgress progress(stream, "check", files);
  ASSIGN_OR_RETURN(std::vector<fleet::NodeRecord> records,
                   ReadSnapshots(files, [&] { progress.Next(); }));
  progress.Then("evaluating the rules");
  fleet::AssignRails(records, profile);
  const std::string rules_file = arguments.Text("rules");
  const RuleFiles own =
      LoadRuleFiles(rules_file.empty() ? std::vector<std::string>() : std::vector{rules_file});
  const std::vector<rules::NodeRule> own_rules = custom::NodeRules(own.files);
  rules::Evaluation evaluation = rules::Evaluate(fleet::FleetView(records, profile), own_rules);

  auto response = std::make_unique<v1::ValidateResponse>();
  *response->mutable_counts() = evaluation.counts;
  *response->mutable_coverage() = std::move(evaluation.coverage);
  for (v1::Finding& finding : evaluation.findings) *response->add_findings() = std::move(finding);
  response->set_nodes(static_cast<std::uint32_t>(records.size()));
  response->set_rules(static_cast<std::uint32_t>(rules::AllRules().size() + own_rules.size()));
  Output output;
  output.before = own.problems;
  output.before += Format(
      "{}, {}, {}: {} pass, {} fail, {} unknown\n", Plural(response->nodes(), "node"),
      Plural(response->rules(), "rule"),
      profile.name().empty() ? std::string("no profile") : Format("profile {}", profile.name()),
      response->counts().pass(), response->counts().fail(), response->counts().unknown());
  const bool explained = arguments.Bool("explained");
  if (!explained) output.after = ExplainedNote(response->findings());
  output.after += CoverageLines(response->coverage());
  output.tables.push_back(FindingTable(response->findings(), {.explained = explained}));
  output.names = FindingNames(response->findings());
  if (!own.problems.empty()) output.exit_status = kExitUsage;
  if (response->counts().fail() > 0) output.exit_status = kExitFindings;
  output.message = std::move(response);
  return output;
}

}  // namespace

extern const Command check = {
    .path = "check",
    .summary = "Evaluate the rules on snapshots of nodes, without a controller.",
    .description =
        "Uses the rules of the controller. Several snapshots are also compared with each other. "
        "Two snapshots of one machine, at least ten seconds apart, also give counter rates. "
        "Unknown means that a value the rule needs could not be read; it never counts as a pass. "
        "Exits with 1 if a verdict is a failure, else with 2 if a file of rules has an error; the "
        "valid rules of that file are still evaluated. -o wide adds remedies; -o json prints "
        "findings and counts. For the local machine: `fabric-agent inspect -o json | fabricctl "
        "check -`.",
    .example =
        "fabricctl check --profile roce-pfc-dcqcn n1.json n2.json\n"
        "fabricctl check --rules site.yaml --explained n1.json n2.json",
    .options = kCheckOptions,
    .run = RunCheck,
    .offline = true,
};

}  // namespace fabric::ctl
