#include <nlohmann/json.hpp>

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

std::string Planned(const subnet::PlannedCable& cable) {
  return Format("{} - {}", ToString(cable.from), ToString(cable.to));
}

struct Difference {
  std::string_view change;
  std::string before;
  std::string now;
};

std::vector<Difference> Differences(const subnet::PlanComparison& found,
                                    const subnet::Subnet& now) {
  std::vector<Difference> list;
  for (const subnet::Miswired& each : found.miswired)
    list.push_back({"moved", Planned(each.planned), CableWords(now, {each.end, each.actual})});
  for (const subnet::MissingCable& each : found.missing)
    list.push_back({"gone", Planned(each.planned), "-"});
  for (const subnet::Cable& each : found.unplanned)
    list.push_back({"new", "-", CableWords(now, each)});
  return list;
}

Result<Output> RunSubnetDiff(Client&, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Plan before, ReadPlanFile(arguments.Text("BEFORE")));
  ASSIGN_OR_RETURN(const subnet::Subnet now, ReadSubnet({arguments.Text("NOW")}));
  const subnet::PlanComparison found = subnet::Compare(before, now);
  Output output;
  output.before = ProblemLines(before.problems) + ProblemLines(now.problems());
  Table table{.columns = {{.title = "CHANGE"}, {.title = "BEFORE"}, {.title = "NOW"}},
              .empty_note = "No difference."};
  std::vector<nlohmann::ordered_json> items;
  for (const Difference& each : Differences(found, now)) {
    table.rows.push_back({std::string(each.change), each.before, each.now});
    items.push_back({{"change", each.change}, {"before", each.before}, {"now", each.now}});
  }
  RETURN_IF_ERROR(PrintList(arguments, stream, "changes", items));
  output.after = Format("{} cables are the same.\n", found.matching);
  if (!table.rows.empty()) output.exit_status = kExitFindings;
  output.tables.push_back(std::move(table));
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

}  // namespace fabric::ctl
