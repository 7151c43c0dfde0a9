#include "base/lists.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/item_progress.h"
#include "ctl/subnet_files.h"
#include "ctl/tables/coverage_lines.h"
#include "ctl/tables/finding_table.h"
#include "fabric/v1/fabric.pb.h"
#include "subnet/checks/check.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetCheckOptions[] = {
    kSubnetFilesOption,
    kSubnetNameOption,
    {.name = "plan",
     .type = OptionType::kPath,
     .doc = "Expected cables: an NDT file, a topo file of ibdiagnet, or output of ibnetdiscover "
            "that was saved earlier."},
    {.name = "extra-hops",
     .type = OptionType::kNumber,
     .max = "64",
     .doc = "Switches above the minimum that the routing engine may use. Default: 0 on trees; "
            "unknown elsewhere."},
    {.name = "oversubscription",
     .value = "RATIO",
     .doc = "Largest ratio of bandwidth down to bandwidth up of a switch: 1, 2.5."},
    {.name = "several-lanes",
     .type = OptionType::kBool,
     .doc = "The routing engine avoids credit loops by virtual lanes (dfsssp, lash, torus-2QoS), "
            "which no file shows."},
    {.name = "routing",
     .value = "ENGINE",
     .doc = "Routing engine of the subnet manager, whose properties the tables must have: minhop, "
            "updn, ftree, dfsssp, sssp, lash."},
};

Result<subnet::Expectations> ReadExpectations(const Arguments& arguments) {
  subnet::Expectations expected;
  if (arguments.Has("extra-hops")) expected.extra_hops = arguments.Number("extra-hops");
  expected.several_lanes = arguments.Bool("several-lanes");
  if (const std::string engine = arguments.Text("routing"); !engine.empty()) {
    const auto routing = subnet::ParseRoutingEngine(engine);
    if (!routing.ok()) return routing.status().In("--routing");
    expected.routing = *routing;
  }
  const std::string ratio = arguments.Text("oversubscription");
  if (ratio.empty()) return expected;
  const auto value = subnet::ParseOversubscription(ratio);
  if (!value.ok()) return value.status().In("--oversubscription");
  expected.oversubscription_max = *value;
  return expected;
}

std::string Summary(const subnet::Subnet& all, const v1::ValidateResponse& response) {
  return Format("{}, {}, {}: {} pass, {} fail, {} unknown\n", Plural(all.nodes().size(), "node"),
                Plural(all.Cables().size(), "cable"), Plural(response.rules(), "rule"),
                response.counts().pass(), response.counts().fail(), response.counts().unknown());
}

Result<Output> RunSubnetCheck(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Expectations expected, ReadExpectations(arguments));
  Remaining checking(stream, "subnet");
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  std::optional<subnet::Plan> plan;
  if (const std::string path = arguments.Text("plan"); !path.empty()) {
    ASSIGN_OR_RETURN(plan, ReadPlanFile(path));
  }
  checking.Show("checking routes and cables");
  subnet::Evaluation evaluation = subnet::Evaluate(all, plan ? &*plan : nullptr, expected);
  auto response = std::make_unique<v1::ValidateResponse>();
  *response->mutable_counts() = evaluation.counts;
  *response->mutable_coverage() = evaluation.coverage;
  for (v1::Finding& finding : evaluation.findings) *response->add_findings() = std::move(finding);
  response->set_nodes(static_cast<std::uint32_t>(all.nodes().size()));
  response->set_rules(static_cast<std::uint32_t>(subnet::AllChecks().size()));
  response->set_findings_omitted(static_cast<std::uint32_t>(evaluation.omitted));
  Output output;
  output.before = ProblemLines(all.problems());
  if (plan) output.before += ProblemLines(plan->problems);
  output.before += Summary(all, *response);
  output.tables.push_back(FindingTable(response->findings()));
  if (evaluation.omitted > 0)
    output.after = Format("{} not shown: at most {} for each rule.\n",
                          Plural(evaluation.omitted, "finding"), subnet::Verdicts::kFindingsMax);
  output.after += Format("Coverage: {} judged, {} not applicable.\n",
                         Plural(response->coverage().rules_judged(), "rule"),
                         response->coverage().rules_not_applicable());
  output.names = FindingNames(response->findings());
  if (response->counts().fail() > 0) output.exit_status = kExitFindings;
  output.message = std::move(response);
  return output;
}

}  // namespace

extern const Command subnet_check = {
    .path = "subnet check",
    .summary =
        "Check an InfiniBand subnet from files or the controller: addresses, cables, tree and "
        "routing.",
    .description =
        "Works without a controller. A line that cannot be read is listed with file and line, and "
        "the other lines are used. Unknown means that an input is missing; its text names the file "
        "or option that supplies it. Exits with 1 if a verdict is a failure. -o wide adds "
        "remedies; -o json prints findings, counts and coverage.",
    .example =
        "fabricctl subnet check ibnetdiscover.txt lfts.txt --plan plan.ndt\n"
        "fabricctl subnet check snapshot.json -o json",
    .options = kSubnetCheckOptions,
    .run = RunSubnetCheck,
};

}  // namespace fabric::ctl
