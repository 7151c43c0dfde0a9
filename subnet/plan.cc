#include "subnet/plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "subnet/files/formats.h"
#include "subnet/files/plain_text.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

// The name without differences of spelling: "MF0;Leaf_3:MQM9700/U1" is "leaf-3".
std::string Spelled(std::string_view name) {
  std::string spelled = Lower(name.starts_with("MF0;") || name.starts_with("mf0;")
                                  ? ShortName(Format("MF0;{}", name.substr(4)))
                                  : std::string(name));
  std::ranges::replace(spelled, '_', '-');
  return spelled;
}

// Nodes of the subnet by GUID and by lower-case name.
class Nodes {
 public:
  Nodes(const Plan& plan, const Subnet& subnet) : subnet_(subnet) {
    for (const PlannedCable& cable : plan.cables) {
      planned_guids_.insert(cable.from.guid);
      planned_guids_.insert(cable.to.guid);
      planned_names_.insert(Lower(cable.from.node));
      planned_names_.insert(Lower(cable.to.node));
    }
    for (std::uint32_t index = 0; index < subnet.nodes().size(); ++index) {
      const Node& node = subnet.node(index);
      by_name_[Lower(BaseName(node))].push_back(index);
      if (node.shares_name) by_name_[Lower(NameOf(node))].push_back(index);
      if (!planned_names_.contains(Lower(BaseName(node))))
        by_spelling_[Spelled(BaseName(node))].push_back(index);
    }
  }

  // Plans may call the node by this name, too.
  void AddAlias(const std::string& name, std::uint32_t node) { by_name_[Lower(name)] = {node}; }

  // The nodes that the end can mean. By GUID at most one; a node with another GUID counts if only
  // it has the name, and the plan does not have its GUID.
  std::vector<std::uint32_t> Find(const PlannedEnd& planned) const {
    if (const std::uint32_t node = planned.guid == 0 ? kNoNode : subnet_.FindGuid(planned.guid);
        node != kNoNode)
      return {node};
    auto at = by_name_.find(Lower(planned.node));
    if (at == by_name_.end()) {
      at = by_spelling_.find(Spelled(planned.node));
      if (at == by_spelling_.end()) return {};
    }
    const bool replaced =
        at->second.size() == 1 && !planned_guids_.contains(subnet_.node(at->second.front()).guid);
    if (planned.guid != 0 && !replaced) return {};
    return at->second;
  }
  End PeerOf(End end) const {
    const Port* const port = subnet_.FindPort(end);
    return port == nullptr ? End() : port->Peer();
  }

 private:
  const Subnet& subnet_;
  std::unordered_set<std::uint64_t> planned_guids_;
  std::unordered_set<std::string> planned_names_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_name_;
  // Of nodes whose name the plan does not have
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_spelling_;
};

bool BetweenSwitches(const Subnet& subnet, const Cable& cable) {
  return subnet.node(cable.from.node).type == NodeType::kSwitch &&
         subnet.node(cable.to.node).type == NodeType::kSwitch;
}

class Comparer {
 public:
  Comparer(const Plan& plan, const Subnet& subnet)
      : plan_(plan), subnet_(subnet), names_(plan, subnet) {}

  PlanComparison Run() {
    FindRenamed();
    for (const PlannedEnd& end : plan_.finished)
      for (const std::uint32_t node : names_.Find(end)) finished_.insert(node);
    // Ends that can be several nodes take what the others leave.
    std::vector<const PlannedCable*> later;
    for (const PlannedCable& planned : plan_.cables)
      if (names_.Find(planned.from).size() > 1 || names_.Find(planned.to).size() > 1)
        later.push_back(&planned);
      else
        Judge(planned);
    for (const PlannedCable* const planned : later) Judge(*planned);
    AddUnplanned();
    return std::move(out_);
  }

 private:
  // Cables of a planned node that the subnet does not have.
  struct Unnamed {
    std::size_t cables = 0;                     // With a known end
    std::map<std::uint32_t, std::size_t> seen;  // By node at the other end, at the planned port
  };

  // A node under another name: most planned cables are there, port by port.
  void FindRenamed() {
    std::map<std::string, Unnamed> unnamed;
    std::set<std::uint32_t> planned;
    for (const PlannedCable& cable : plan_.cables)
      for (const auto& [end, other] :
           {std::pair(&cable.from, &cable.to), std::pair(&cable.to, &cable.from)}) {
        const std::vector<std::uint32_t> nodes = names_.Find(*end);
        planned.insert(nodes.begin(), nodes.end());
        const std::vector<std::uint32_t> far = names_.Find(*other);
        if (!nodes.empty() || far.size() != 1) continue;
        Unnamed& node = unnamed[end->node];
        ++node.cables;
        const End peer = names_.PeerOf({far.front(), other->port});
        if (peer.present() && peer.port == end->port) ++node.seen[peer.node];
      }
    std::map<std::uint32_t, std::size_t> claims;
    for (const auto& [name, node] : unnamed)
      if (const auto best = BestOf(node); best != kNoNode) ++claims[best];
    for (const auto& [name, node] : unnamed) {
      const std::uint32_t best = BestOf(node);
      if (best == kNoNode || planned.contains(best) || claims[best] > 1) continue;
      names_.AddAlias(name, best);
      out_.renamed.push_back({.planned = name, .node = best, .cables = node.seen.at(best)});
    }
  }

  static std::uint32_t BestOf(const Unnamed& node) {
    constexpr std::size_t kCablesMin = 2;
    constexpr std::size_t kPercentMin = 80;
    const auto best =
        std::ranges::max_element(node.seen, {}, [](const auto& each) { return each.second; });
    if (best == node.seen.end() || best->second < kCablesMin ||
        best->second * 100 < node.cables * kPercentMin)
      return kNoNode;
    return best->first;
  }

  void Judge(const PlannedCable& planned) {
    const std::vector<std::uint32_t> from = names_.Find(planned.from);
    const std::vector<std::uint32_t> to = names_.Find(planned.to);
    nodes_.insert(from.begin(), from.end());
    nodes_.insert(to.begin(), to.end());
    if (!from.empty() && !to.empty())
      kinds_.insert(BetweenSwitches(subnet_, {{from.front(), 0}, {to.front(), 0}}));
    if (HasCable(planned, from, to)) {
      ++out_.matching;
      return;
    }
    if (planned.can_be_cut) {
      ++out_.not_covered;
      return;
    }
    const End from_end = OnlyEnd(from, planned.from);
    const End to_end = OnlyEnd(to, planned.to);
    if (!IsMiswired(planned, from_end) && !IsMiswired(planned, to_end))
      out_.missing.push_back({planned, from_end, to_end});
    for (const End end : {from_end, to_end})
      if (end.present()) accounted_.insert(end);
  }

  // Whether one of the nodes has the cable. With several nodes each cable counts once.
  bool HasCable(const PlannedCable& planned, const std::vector<std::uint32_t>& from,
                const std::vector<std::uint32_t>& to) {
    const bool once = from.size() > 1 && to.size() > 1;
    if (once) shared_.insert(KeyOf(planned.from, planned.to));
    for (const std::uint32_t node : from) {
      const End end{node, planned.from.port};
      const End peer = names_.PeerOf(end);
      if (!peer.present() || peer.port != planned.to.port || !std::ranges::count(to, peer.node) ||
          (once && accounted_.contains(end)))
        continue;
      accounted_.insert(end);
      accounted_.insert(peer);
      return true;
    }
    return false;
  }

  static std::string KeyOf(const PlannedEnd& from, const PlannedEnd& to) {
    return Lower(Format("{} - {}", ToString(from), ToString(to)));
  }

  // Whether the plan has a cable between nodes of these names and ports. A plan can list it once
  // for several cables: UFM removes equal rows.
  bool CanBePlanned(const Cable& cable) const {
    const PlannedEnd from{BaseName(subnet_.node(cable.from.node)), cable.from.port};
    const PlannedEnd to{BaseName(subnet_.node(cable.to.node)), cable.to.port};
    return shared_.contains(KeyOf(from, to)) || shared_.contains(KeyOf(to, from));
  }

  // The cables of the subnet that no cable of the plan accounts for.
  void AddUnplanned() {
    for (const Cable& cable : subnet_.Cables()) {
      if (accounted_.contains(cable.from) || accounted_.contains(cable.to)) continue;
      if (IsAggregationNode(subnet_.node(cable.from.node)) ||
          IsAggregationNode(subnet_.node(cable.to.node)))
        continue;
      const bool covered = kinds_.contains(BetweenSwitches(subnet_, cable)) &&
                           (nodes_.contains(cable.from.node) || nodes_.contains(cable.to.node));
      if (covered && !CanBePlanned(cable))
        out_.unplanned.push_back(cable);
      else
        ++out_.not_covered;
    }
    FindEndOfPlan();
  }

  // Plans list the cables of one device after the other. The end of a plan is missing if all cables
  // that it lacks are of the last device and of later ones: of some cables of the last device, or
  // of so many that they were not added later.
  void FindEndOfPlan() {
    constexpr std::size_t kPercentMin = 10;
    const std::vector<std::uint32_t> last =
        plan_.last ? names_.Find(*plan_.last) : std::vector<std::uint32_t>();
    const auto of_last = [&](const Cable& cable) {
      return std::ranges::count(last, cable.from.node) + std::ranges::count(last, cable.to.node) >
             0;
    };
    const auto is_later = [&](const End& end) {
      return !finished_.contains(end.node) &&
             (std::ranges::count(last, end.node) == 0 || end.port > plan_.last->port);
    };
    const auto later = [&](const Cable& cable) {
      return is_later(cable.from) && is_later(cable.to);
    };
    if (!plan_.last) {
      std::ranges::copy_if(out_.unplanned, std::back_inserter(out_.after_end), later);
      std::erase_if(out_.unplanned, later);
      return;
    }
    const bool many = out_.unplanned.size() * 100 >= plan_.cables.size() * kPercentMin;
    if (std::ranges::all_of(out_.unplanned, later) &&
        (many || std::ranges::any_of(out_.unplanned, of_last)))
      out_.after_end.swap(out_.unplanned);
  }

  // Not present: no node, or several.
  static End OnlyEnd(const std::vector<std::uint32_t>& nodes, const PlannedEnd& planned) {
    return nodes.size() == 1 ? End{nodes.front(), planned.port} : End();
  }

  bool IsMiswired(const PlannedCable& planned, End end) {
    const End actual = end.present() ? names_.PeerOf(end) : End();
    if (!actual.present()) return false;
    out_.miswired.push_back({.planned = planned, .end = end, .actual = actual});
    return true;
  }

  const Plan& plan_;
  const Subnet& subnet_;
  Nodes names_;
  PlanComparison out_;
  std::set<End> accounted_;  // Ends of cables that match or are reported
  std::set<std::uint32_t> nodes_;
  std::set<std::uint32_t> finished_;
  std::set<bool> kinds_;
  std::set<std::string> shared_;  // Planned cables whose ends can each be several nodes
};

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
    plan.cables.push_back({.from = {NameOf(from), cable.from.port, from.guid},
                           .to = {NameOf(to), cable.to.port, to.guid},
                           .line = 0});
  }
  for (const Node& node : subnet.nodes())
    if (node.listed && !node.can_lack_cables)
      plan.finished.push_back({.node = NameOf(node), .port = 0, .guid = node.guid});
  return plan;
}

namespace {

// The rows of a device follow each other.
void FindLast(std::string_view text, Plan& plan) {
  if (plan.cables.empty()) return;
  PlannedCable& last = plan.cables.back();
  last.can_be_cut = !text.ends_with('\n') && !text.ends_with('\r');
  plan.last = PlannedEnd{.node = last.from.node, .port = last.from.port};
  std::uint32_t before = 0;  // Port of the row before
  std::set<std::string> finished;
  for (const PlannedCable& cable : plan.cables) {
    finished.insert(cable.from.node);
    if (cable.from.node != last.from.node) continue;
    if (cable.from.port < before) plan.last->port = 0;
    before = cable.from.port;
  }
  finished.erase(last.from.node);
  for (const std::string& name : finished) plan.finished.push_back({.node = name, .port = 0});
}

}  // namespace

Result<Plan> ReadPlan(const std::string& file, std::string_view text) {
  Plan plan{.file = file, .cables = {}, .problems = {}};
  ASSIGN_OR_RETURN(const std::optional<PlainText> plain, ToPlainText(file, text, kFileBytesMax));
  if (plain) text = plain->text;
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
  if (format == &kNdtFormat || format == &kTopoFormat) FindLast(text, plan);
  if (plain && !plain->problem.empty()) plan.problems.Add({file, 0, plain->problem});
  if (!plan.cables.empty()) return plan;
  return Status(Code::kInvalidArgument,
                plan.problems.kept().empty()
                    ? Format("{}: expected at least one cable, saw none", file)
                    : ToString(plan.problems.kept().front()));
}

Plan PlanFor(const Plan& plan, const Subnet& subnet) {
  const Nodes nodes(plan, subnet);
  Plan part{.file = plan.file,
            .cables = {},
            .problems = {},
            .finished = plan.finished,
            .last = plan.last};
  for (const PlannedCable& cable : plan.cables)
    if (!nodes.Find(cable.from).empty() || !nodes.Find(cable.to).empty())
      part.cables.push_back(cable);
  return part;
}

PlanComparison Compare(const Plan& plan, const Subnet& subnet) {
  return Comparer(plan, subnet).Run();
}

}  // namespace fabric::subnet
