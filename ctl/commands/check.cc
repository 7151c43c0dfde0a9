#include <algorithm>
#include <map>
#include <optional>

#include "base/text.h"
#include "ctl/arguments.h"
#include "ctl/cells.h"
#include "ctl/files.h"
#include "ctl/finding_table.h"
#include "ctl/profiles.h"
#include "ctl/snapshots.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {
namespace {

constexpr Option kOptions[] = {
    {.name = "SNAPSHOT",
     .value = "FILE",
     .help = "What `fabric-agent inspect -o json` printed on each node; - is standard input.",
     .required = true,
     .repeated = true},
    {.name = "--profile",
     .value = "NAME|FILE",
     .help = "What is expected: a profile that comes with fabricctl, or a file with your own."},
};

Result<Output> RunCheck(Client&, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(const profile::Profile profile, FindProfile(arguments.Text("--profile")));
  ASSIGN_OR_RETURN(const std::vector<fleet::NodeRecord> records,
                   ReadSnapshots(arguments.All("SNAPSHOT")));
  rules::Evaluation evaluation = rules::Evaluate(fleet::FleetView(records, profile));

  auto response = std::make_unique<v1::ValidateResponse>();
  *response->mutable_counts() = evaluation.counts;
  for (v1::Finding& finding : evaluation.findings) *response->add_findings() = std::move(finding);
  response->set_nodes(static_cast<std::uint32_t>(records.size()));
  response->set_rules(static_cast<std::uint32_t>(rules::AllRules().size()));
  Output output;
  output.before = Format(
      "{}, {}, {}: {} pass, {} fail, {} unknown\n", Count(response->nodes(), "node"),
      Count(response->rules(), "rule"),
      profile.name().empty() ? std::string("no profile") : Format("profile {}", profile.name()),
      response->counts().pass(), response->counts().fail(), response->counts().unknown());
  output.tables.push_back(FindingTable(response->findings(), false));
  output.names = FindingNames(response->findings());
  if (response->counts().fail() > 0) output.exit_status = kExitFindings;
  output.message = std::move(response);
  return output;
}

}  // namespace

extern const Command check = {
    .path = "check",
    .summary = "Judge snapshots of nodes without a controller.",
    .description =
        "The same rules and verdicts as the controller's. One snapshot is judged by itself; "
        "several are compared with each other too. Two of one machine, ten seconds apart or "
        "more, also show how its counters move. Unknown means that something a rule needs could "
        "not be read; it is never counted as a pass. Exits with 1 when a verdict is a "
        "failure. -o wide adds what mends it; -o json prints findings and counts. On one machine: "
        "`fabric-agent inspect -o json | fabricctl check -`.",
    .example = "fabricctl check --profile roce-pfc-dcqcn n1.json n2.json",
    .options = kOptions,
    .run = RunCheck,
    .offline = true,
};

}  // namespace fabric::ctl
