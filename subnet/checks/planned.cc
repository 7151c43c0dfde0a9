// Checks against a plan, and of the subnet manager.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

constexpr std::size_t kCablesShown = 3;

std::string PlannedWords(const PlannedCable& cable) {
  return Format("{} - {}", ToString(cable.from), ToString(cable.to));
}

std::string PlanBasis(const Plan& plan, const PlannedCable& cable) {
  return cable.line == 0 ? plan.file : Format("{}:{}", plan.file, cable.line);
}

// A planned node without any of its planned cables.
struct AbsentNode {
  std::string name;
  End node;  // Absent: the subnet does not have it
  bool is_switch = false;
  std::vector<const PlannedCable*> cables;
};

constexpr std::size_t kAdapterPortsMax = 2;

// Node by name and GUID, as plans have them.
using NodeKey = std::pair<std::string, std::uint64_t>;
NodeKey KeyOf(const PlannedEnd& end) {
  return {end.node, end.guid};
}

// Nodes with at least two cables, of which all are missing. Each cable belongs to one of them: to
// that with most cables, so that a dead leaf is named and not its hosts.
std::vector<AbsentNode> AbsentNodes(const Plan& plan, const std::vector<MissingCable>& missing) {
  std::map<NodeKey, std::size_t> planned;
  for (const PlannedCable& cable : plan.cables)
    for (const PlannedEnd* const end : {&cable.from, &cable.to}) ++planned[KeyOf(*end)];
  std::map<NodeKey, AbsentNode> found;
  for (const MissingCable& each : missing)
    for (const auto& [end, node] :
         {std::pair(&each.planned.from, each.from), {&each.planned.to, each.to}}) {
      AbsentNode& absent = found[KeyOf(*end)];
      absent.name = end->node;
      absent.node = node;
      absent.is_switch |= end->port > kAdapterPortsMax || planned[KeyOf(*end)] > kAdapterPortsMax;
      absent.cables.push_back(&each.planned);
    }
  std::vector<AbsentNode> all;
  for (auto& [key, absent] : found)
    if (absent.cables.size() == planned[key]) all.push_back(std::move(absent));
  std::ranges::stable_sort(all, std::greater(),
                           [](const AbsentNode& each) { return each.cables.size(); });
  std::set<const PlannedCable*> taken;
  for (AbsentNode& each : all) {
    std::erase_if(each.cables, [&](const PlannedCable* cable) { return taken.contains(cable); });
    if (each.cables.size() >= 2) taken.insert(each.cables.begin(), each.cables.end());
  }
  std::erase_if(all, [](const AbsentNode& each) { return each.cables.size() < 2; });
  return all;
}

v1::Subject SubjectOf(const Subnet& subnet, const AbsentNode& absent) {
  if (absent.node.present() && subnet.node(absent.node.node).type == NodeType::kSwitch)
    return SubjectOf(subnet, End{absent.node.node, 0});
  if (absent.node.present()) return SubjectOf(subnet, absent.node);
  if (!absent.is_switch) return WholeSubnet();
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_SWITCH);
  subject.set_switch_name(absent.name);
  return subject;
}

// The end that the subnet has: a switch rather than an adapter.
v1::Subject SubjectOf(const Subnet& subnet, const MissingCable& missing) {
  for (const bool is_switch : {true, false})
    for (const End end : {missing.from, missing.to})
      if (end.present() && (subnet.node(end.node).type == NodeType::kSwitch) == is_switch)
        return SubjectOf(subnet, end);
  return WholeSubnet();
}

void ReportMissing(const CheckInput& input, const PlanComparison& found, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::set<const PlannedCable*> reported;
  for (const AbsentNode& absent : AbsentNodes(*input.plan, found.missing)) {
    std::vector<std::string> cables;
    for (const PlannedCable* const cable : absent.cables) cables.push_back(PlannedWords(*cable));
    reported.insert(absent.cables.begin(), absent.cables.end());
    out.Fail(
        {.subject = SubjectOf(subnet, absent),
         .key = absent.name,
         .title = Format("missing: all {} planned cables of \"{}\"", cables.size(), absent.name),
         .what = "cables",
         .expected = ListSome(cables, kCablesShown, cables.size()),
         .seen = "no link",
         .basis = input.plan->file,
         .remedies = {Advice("Check that it has power, and that the plan has the name that the "
                             "subnet shows. Then check the ports of its cables.")}});
  }
  for (const MissingCable& each : found.missing) {
    if (reported.contains(&each.planned)) continue;
    out.Fail({.subject = SubjectOf(subnet, each),
              .key = PlannedWords(each.planned),
              .title = Format("missing: planned cable {}", PlannedWords(each.planned)),
              .what = "cable",
              .expected = PlannedWords(each.planned),
              .seen = "no link",
              .basis = PlanBasis(*input.plan, each.planned),
              .remedies = {Advice("Check that both ports are enabled, and reseat the cable.")}});
  }
}

void ReportUnplanned(const CheckInput& input, const PlanComparison& found, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  if (!found.after_end.empty())
    out.Unknown(
        Format("{} without a row in {}, such as {}: all are of devices at the end of the "
               "file or after it, so that a part of it can be missing",
               Plural(found.after_end.size(), "cable"), input.plan->file,
               CableWords(subnet, found.after_end.front())));
  const std::size_t bad = input.plan->problems.count();
  // A row that was not read can be that of the cable.
  if (bad > 0 && !found.unplanned.empty())
    return out.Unknown(Format("{} without a row in {}, of which {} could not be read",
                              Plural(found.unplanned.size(), "cable"), input.plan->file,
                              Plural(bad, "line")));
  for (const Cable& each : found.unplanned)
    out.Fail({.subject = SubjectOf(subnet, each),
              .key = std::to_string(each.from.port),
              .title = Format("unplanned: {}", CableWords(subnet, each)),
              .what = "cable",
              .expected = "no cable",
              .seen = CableWords(subnet, each),
              .basis = input.plan->file,
              .remedies = {Advice("Remove the cable, or add it to the plan.")}});
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
  for (const RenamedNode& each : found.renamed)
    out.Fail({.subject = SubjectOf(subnet, End{each.node, 0}),
              .key = each.planned,
              .title = Format("renamed: {} has the {} of \"{}\" of the plan",
                              NodeWords(subnet.node(each.node)),
                              Plural(each.cables, "planned cable"), each.planned),
              .what = "name of the node",
              .expected = each.planned,
              .seen = NameOf(subnet.node(each.node)),
              .basis = input.plan->file,
              .remedies = {Advice("Correct the name in the plan, or the node description.")}});
  ReportMissing(input, found, out);
  ReportUnplanned(input, found, out);
  if (found.not_covered > 0)
    out.Unknown(
        Format("{} cables are not compared: {} does not contain their kind or their nodes, or "
               "several nodes have the same name",
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
