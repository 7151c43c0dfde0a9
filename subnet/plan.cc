#include "subnet/plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "subnet/files/formats.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// Ends of the subnet by lower-case name. Names that several nodes have are left out.
class Names {
 public:
  explicit Names(const Subnet& subnet) : subnet_(subnet) {
    for (std::uint32_t index = 0; index < subnet.nodes().size(); ++index) {
      const auto [at, first] = by_name_.emplace(Lower(NameOf(subnet.node(index))), index);
      if (!first) at->second = kNoNode;
    }
  }

  // The node, or kNoNode if there is none or several.
  std::uint32_t Find(std::string_view name) const {
    const auto at = by_name_.find(Lower(name));
    return at == by_name_.end() ? kNoNode : at->second;
  }
  std::optional<End> Find(const PlannedEnd& planned) const {
    const std::uint32_t node = Find(planned.node);
    if (node == kNoNode) return std::nullopt;
    return End{node, planned.port};
  }
  End PeerOf(std::optional<End> end) const {
    const Port* const port = end ? subnet_.FindPort(*end) : nullptr;
    return port == nullptr ? End() : port->Peer();
  }

 private:
  const Subnet& subnet_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
};

bool BetweenSwitches(const Subnet& subnet, const Cable& cable) {
  return subnet.node(cable.from.node).type == NodeType::kSwitch &&
         subnet.node(cable.to.node).type == NodeType::kSwitch;
}

// The cables of the subnet that no cable of the plan accounts for.
void AddUnplanned(const Subnet& subnet, const std::set<End>& accounted,
                  const std::set<std::uint32_t>& nodes, const std::set<bool>& kinds,
                  PlanComparison& out) {
  for (const Cable& cable : subnet.Cables()) {
    if (accounted.contains(cable.from) || accounted.contains(cable.to)) continue;
    if (IsAggregationNode(subnet.node(cable.from.node)) ||
        IsAggregationNode(subnet.node(cable.to.node)))
      continue;
    const bool covered = kinds.contains(BetweenSwitches(subnet, cable)) &&
                         (nodes.contains(cable.from.node) || nodes.contains(cable.to.node));
    if (covered)
      out.unplanned.push_back(cable);
    else
      ++out.not_covered;
  }
}

}  // namespace

std::string ToString(const PlannedEnd& end) {
  return Format("\"{}\" port {}", end.node, end.port);
}

Plan PlanOf(const std::string& file, const Subnet& subnet) {
  Plan plan{.file = file, .cables = {}, .problems = {}};
  for (const Cable& cable : subnet.Cables()) {
    const Node& from = subnet.node(cable.from.node);
    const Node& to = subnet.node(cable.to.node);
    if (IsAggregationNode(from) || IsAggregationNode(to)) continue;
    plan.cables.push_back(
        {.from = {NameOf(from), cable.from.port}, .to = {NameOf(to), cable.to.port}, .line = 0});
  }
  return plan;
}

Result<Plan> ReadPlan(const std::string& file, std::string_view text) {
  Plan plan{.file = file, .cables = {}, .problems = {}};
  const FileFormat* const format = DetectFormat(text);
  if (format == &kNdtFormat) {
    ReadNdt(text, plan);
  } else if (format == &kTopoFormat) {
    ReadTopo(text, plan);
  } else {
    Builder builder;
    RETURN_IF_ERROR(AddFile(file, text, builder));
    const Subnet subnet = builder.Finish();
    plan = PlanOf(file, subnet);
    plan.problems = subnet.problems();
  }
  if (!plan.cables.empty()) return plan;
  return Status(Code::kInvalidArgument,
                plan.problems.kept().empty()
                    ? Format("{}: expected at least one cable, saw none", file)
                    : ToString(plan.problems.kept().front()));
}

Plan PlanFor(const Plan& plan, const Subnet& subnet) {
  std::unordered_set<std::string> names;
  for (const Node& node : subnet.nodes()) names.insert(Lower(NameOf(node)));
  Plan part{.file = plan.file, .cables = {}, .problems = {}};
  for (const PlannedCable& cable : plan.cables)
    if (names.contains(Lower(cable.from.node)) || names.contains(Lower(cable.to.node)))
      part.cables.push_back(cable);
  return part;
}

PlanComparison Compare(const Plan& plan, const Subnet& subnet) {
  const Names names(subnet);
  PlanComparison out;
  std::set<End> accounted;  // Ends of cables that match or are reported
  std::set<std::uint32_t> nodes;
  std::set<bool> kinds;
  for (const PlannedCable& planned : plan.cables) {
    const auto from = names.Find(planned.from);
    const auto to = names.Find(planned.to);
    if (from) nodes.insert(from->node);
    if (to) nodes.insert(to->node);
    if (from && to) kinds.insert(BetweenSwitches(subnet, {*from, *to}));
    if (from) accounted.insert(*from);
    if (to) accounted.insert(*to);
    const End from_peer = names.PeerOf(from);
    const End to_peer = names.PeerOf(to);
    if (to && from_peer == *to) {
      ++out.matching;
      continue;
    }
    if (from_peer.present())
      out.miswired.push_back({.planned = planned, .end = *from, .actual = from_peer});
    else if (to_peer.present())
      out.miswired.push_back({.planned = planned, .end = *to, .actual = to_peer});
    else
      out.missing.push_back(planned);
  }
  AddUnplanned(subnet, accounted, nodes, kinds, out);
  return out;
}

}  // namespace fabric::subnet
