#include <nlohmann/json.hpp>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/subnet_files.h"
#include "subnet/words.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetDiffOptions[] = {
    {.name = "BEFORE",
     .type = OptionType::kPath,
     .doc = "Earlier output of ibnetdiscover, or a plan.",
     .required = true},
    {.name = "NOW",
     .type = OptionType::kPath,
     .doc = "Newer output of ibnetdiscover.",
     .required = true},
};

constexpr Option kSubnetPlanCompareOptions[] = {
    {.name = "PLAN",
     .type = OptionType::kPath,
     .doc = "Cable plan: an NDT file, a topo file of ibdiagnet, or a saved snapshot.",
     .required = true},
    kSubnetFilesOption,
    kSubnetNameOption,
};

std::string Planned(const subnet::PlannedCable& cable) {
  return Format("{} - {}", ToString(cable.from), ToString(cable.to));
}

struct Difference {
  std::string_view change;
  std::string before;
  std::string now;
};

// Words for a cable that is elsewhere, that is not there, and that is not in the other one.
struct DifferenceWords {
  std::string_view moved;
  std::string_view gone;
  std::string_view added;
};

std::vector<Difference> Differences(const subnet::PlanComparison& found, const subnet::Subnet& now,
                                    const DifferenceWords& words) {
  std::vector<Difference> list;
  for (const subnet::RenamedNode& each : found.renamed)
    list.push_back(
        {"renamed", Format("\"{}\"", each.planned),
         Format("{}, {}", subnet::NodeWords(now.node(each.node)), Plural(each.cables, "cable"))});
  for (const subnet::Miswired& each : found.miswired)
    list.push_back({words.moved, Planned(each.planned), CableWords(now, {each.end, each.actual})});
  for (const subnet::MissingCable& each : found.missing)
    list.push_back({words.gone, Planned(each.planned), "-"});
  for (const subnet::Cable& each : found.unplanned)
    list.push_back({words.added, "-", CableWords(now, each)});
  return list;
}

// The output of a comparison without its JSON.
Output ShowDifferences(const std::vector<Difference>& differences, std::string before_title,
                       std::string now_title, std::vector<nlohmann::ordered_json>& items) {
  Output output;
  Table table{.columns = {{.title = "CHANGE"},
                          {.title = std::move(before_title)},
                          {.title = std::move(now_title)}},
              .empty_note = "No difference."};
  for (const Difference& each : differences) {
    table.rows.push_back({std::string(each.change), each.before, each.now});
    items.push_back({{"change", each.change}, {"before", each.before}, {"now", each.now}});
  }
  if (!differences.empty()) output.exit_status = kExitFindings;
  output.tables.push_back(std::move(table));
  return output;
}

Result<Output> RunSubnetDiff(Client&, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Plan before, ReadPlanFile(arguments.Text("BEFORE")));
  ASSIGN_OR_RETURN(const subnet::Subnet now, ReadSubnet({arguments.Text("NOW")}, stream));
  const subnet::PlanComparison found = subnet::Compare(before, now);
  std::vector<nlohmann::ordered_json> items;
  Output output =
      ShowDifferences(Differences(found, now, {"moved", "gone", "new"}), "BEFORE", "NOW", items);
  RETURN_IF_ERROR(PrintList(arguments, stream, "changes", items));
  output.before = ProblemLines(before.problems) + ProblemLines(now.problems());
  output.after = Format("{} cables are the same.\n", found.matching);
  return output;
}

Result<Output> RunSubnetPlanCompare(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Plan all_planned, ReadPlanFile(arguments.Text("PLAN")));
  ASSIGN_OR_RETURN(const subnet::Subnet now, ReadSubnet(client, arguments, stream));
  // A plan can cover all subnets of the controller.
  const bool live = arguments.All("FILE").empty();
  const subnet::Plan planned = live ? subnet::PlanFor(all_planned, now) : all_planned;
  const subnet::PlanComparison found = subnet::Compare(planned, now);
  const std::size_t elsewhere = all_planned.cables.size() - planned.cables.size();
  std::vector<nlohmann::ordered_json> items;
  Output output = ShowDifferences(Differences(found, now, {"miswired", "missing", "unplanned"}),
                                  "PLANNED", "NOW", items);
  RETURN_IF_ERROR(PrintList(arguments, stream, "changes", items,
                            {{"matching", found.matching},
                             {"not_covered", found.not_covered},
                             {"elsewhere", elsewhere}}));
  output.before = ProblemLines(all_planned.problems) + ProblemLines(now.problems());
  output.after = Format("{} as planned.\n", Plural(found.matching, "cable"));
  if (found.not_covered > 0)
    output.after += Format("{} not judged: of kinds or nodes that the plan does not contain.\n",
                           Plural(found.not_covered, "cable"));
  if (elsewhere > 0)
    output.after += Format("{} without an end in this subnet not judged.\n",
                           Plural(elsewhere, "planned cable"));
  return output;
}

}  // namespace

extern const Command subnet_diff = {
    .path = "subnet diff",
    .summary = "List the cables that differ between two files of an InfiniBand subnet.",
    .description =
        "Compares cables by the names of their ends. Exits with 1 if there are differences.",
    .example =
        "fabricctl subnet diff golden.txt ibnetdiscover.txt\n"
        "fabricctl subnet diff yesterday.json today.json -o json",
    .options = kSubnetDiffOptions,
    .run = RunSubnetDiff,
    .offline = true,
};

extern const Command subnet_plan_compare = {
    .path = "subnet plan compare",
    .summary = "Compare the cables of an InfiniBand subnet with a plan.",
    .description =
        "The subnet is that of the controller, or that of the files. Lists cables that are "
        "miswired, missing or unplanned, and nodes that have another name than in the plan. Names "
        "compare without case and without the difference of _ and -. Exits with 1 if there are "
        "differences. `subnet check --plan` gives the same as findings.",
    .example =
        "fabricctl subnet plan compare plan.ndt\n"
        "fabricctl subnet plan compare golden.json ibnetdiscover.txt -o json",
    .options = kSubnetPlanCompareOptions,
    .run = RunSubnetPlanCompare,
};

}  // namespace fabric::ctl
