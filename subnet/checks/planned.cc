// Checks against a plan, and of the subnet manager.
#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

std::string PlannedWords(const PlannedCable& cable) {
  return Format("{} - {}", ToString(cable.from), ToString(cable.to));
}

std::string PlanBasis(const Plan& plan, const PlannedCable& cable) {
  return cable.line == 0 ? plan.file : Format("{}:{}", plan.file, cable.line);
}

void JudgePlan(const CheckInput& input, Verdicts& out) {
  if (input.plan == nullptr)
    return out.Unknown(
        "no plan: give an NDT file, a topo file or a saved snapshot with --plan, or to fabricd "
        "with "
        "infiniband-plan");
  const Subnet& subnet = input.subnet();
  const PlanComparison found = Compare(*input.plan, subnet);
  out.Pass(found.matching);
  for (const Miswired& each : found.miswired) {
    const Cable actual{each.end, each.actual};
    out.Fail({.subject = SubjectOf(subnet, actual),
              .key = PlannedWords(each.planned),
              .title = Format("miswired: {}, planned {}", CableWords(subnet, actual),
                              PlannedWords(each.planned)),
              .what = "cable",
              .expected = PlannedWords(each.planned),
              .seen = CableWords(subnet, actual),
              .basis = PlanBasis(*input.plan, each.planned),
              .remedies = {Advice("Move the cable to the planned port, or correct the plan.")}});
  }
  for (const PlannedCable& each : found.missing)
    out.Fail({.subject = WholeSubnet(),
              .key = PlannedWords(each),
              .title = Format("missing: planned cable {}", PlannedWords(each)),
              .what = "cable",
              .expected = PlannedWords(each),
              .seen = "no link",
              .basis = PlanBasis(*input.plan, each),
              .remedies = {Advice("Check that both ports are enabled, and reseat the cable.")}});
  for (const Cable& each : found.unplanned)
    out.Fail({.subject = SubjectOf(subnet, each),
              .key = std::to_string(each.from.port),
              .title = Format("unplanned: {}", CableWords(subnet, each)),
              .what = "cable",
              .expected = "no cable",
              .seen = CableWords(subnet, each),
              .basis = input.plan->file,
              .remedies = {Advice("Remove the cable, or add it to the plan.")}});
  if (found.not_covered > 0)
    out.Unknown(
        Format("{} cables are of kinds or nodes that {} does not contain, or between nodes "
               "that share their names",
               found.not_covered, input.plan->file));
}

std::string ManagerWords(const Manager& manager) {
  return Format("{} (LID {}, priority {})", GuidText(manager.port_guid), manager.lid,
                manager.priority);
}

// No port of the subnet has a LID: no manager has ever configured it.
bool IsUnconfigured(const Subnet& subnet) {
  std::size_t seen = 0;
  for (const Node& node : subnet.nodes())
    for (const Port& port : node.ports) {
      if (IsAssigned(port.lid)) return false;
      seen += port.lid ? 1 : 0;
    }
  return seen > 0;
}

void JudgeManager(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::vector<std::string> masters;
  for (const Manager& manager : subnet.managers())
    if (manager.state == ManagerState::kMaster) masters.push_back(ManagerWords(manager));
  Failure failure{.subject = WholeSubnet(),
                  .key = "",
                  .title = {},
                  .what = "subnet managers in state MASTER",
                  .expected = "1",
                  .seen = std::to_string(masters.size())};
  if (masters.size() > 1) {
    failure.title = Format("{} masters: {}", masters.size(), ListSome(masters, 4));
    failure.remedies = {
        Advice("Check that the managers reach each other, and give them the same "
               "M_Key and different priorities.")};
    return out.Fail(std::move(failure));
  }
  const bool unconfigured = IsUnconfigured(subnet);
  if (masters.size() == 1) return out.Pass();
  if (!subnet.unanswered().empty() && !unconfigured && !subnet.reading())
    return out.Unknown(Format(
        "no subnet manager answered sminfo ({}): none runs, or the path to it is broken; run "
        "sminfo on another node",
        subnet.unanswered()));
  if (subnet.managers().empty() && !unconfigured && !subnet.reading())
    return out.Unknown("state of the subnet manager: add the output of sminfo for each manager");
  failure.title = unconfigured ? "no port has a LID: no subnet manager has configured the subnet"
                               : "no subnet manager is master";
  failure.remedies = {Advice("Start a subnet manager, or enable the one of a switch.")};
  out.Fail(std::move(failure));
}

}  // namespace

extern const Check subnet_cables_as_planned = {
    .id = "subnet_cables_as_planned",
    .title = "The cables are those of the plan",
    .severity = v1::SEVERITY_ERROR,
    .why = "Routing and placement of jobs assume the planned cables.",
    .judge = JudgePlan};

extern const Check subnet_one_master = {
    .id = "subnet_one_master",
    .title = "One subnet manager is master",
    .severity = v1::SEVERITY_CRITICAL,
    .why = "Without a master, ports that come up get no LID and no routes.",
    .judge = JudgeManager};

}  // namespace fabric::subnet
