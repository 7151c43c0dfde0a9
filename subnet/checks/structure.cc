// Checks of the tree of switches.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

// Switches of one level that share a switch above them, directly or through others.
std::vector<std::vector<std::uint32_t>> PodsOf(const Graph& graph, const Levels& levels) {
  std::vector<std::uint32_t> parent(graph.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t index) {
    while (parent[index] != index) index = parent[index] = parent[parent[index]];
    return index;
  };
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::uint32_t> first_below;
  for (std::uint32_t index = 0; index < graph.size(); ++index)
    for (const std::uint32_t port : Uplinks(graph, levels, index)) {
      const auto [at, first] =
          first_below.emplace(std::pair(graph.Next(index, port), levels.level[index]), index);
      if (!first) parent[root(index)] = root(at->second);
    }
  std::map<std::uint32_t, std::vector<std::uint32_t>> pods;
  for (std::uint32_t index = 0; index < graph.size(); ++index)
    if (levels.level[index] != Levels::kUnknown) pods[root(index)].push_back(index);
  std::vector<std::vector<std::uint32_t>> list;
  for (auto& [key, pod] : pods) list.push_back(std::move(pod));
  return list;
}

void JudgeLevels(const CheckInput& input, Verdicts& out) {
  const Levels& levels = input.levels;
  if (levels.cables == 0) return;
  if (!levels.tree)
    return out.Unknown(
        Format("{}; give a plan with --plan to judge the cables", levels.why_no_tree));
  for (const Cable& cable : levels.within)
    out.Fail(
        {.subject = SubjectOf(input.subnet(), cable),
         .key = std::to_string(cable.from.port),
         .title = Format("{} joins two switches of level {}", CableWords(input.subnet(), cable),
                         levels.level[input.graph.IndexOf(cable.from.node)]),
         .what = "levels of the ends",
         .expected = "two adjacent levels",
         .seen = "one level",
         .basis = Format("{} of {} cables between switches", levels.cables - levels.within.size(),
                         levels.cables),
         .remedies = {Advice("Compare the cable with the plan: one of its ends is probably in "
                             "a wrong switch.")}});
  out.Pass(levels.cables - levels.within.size());
}

// Neighbours above that most switches of the pod have with a cable count that this one lacks.
std::vector<std::string> MissingNeighbours(const CheckInput& input,
                                           const std::vector<std::uint32_t>& pod,
                                           std::uint32_t index) {
  std::map<std::uint32_t, std::map<std::size_t, std::size_t>> widths;  // By neighbour
  std::map<std::uint32_t, std::size_t> own;
  for (const std::uint32_t each : pod) {
    std::map<std::uint32_t, std::size_t> cables;
    for (const std::uint32_t port : Uplinks(input.graph, input.levels, each))
      ++cables[input.graph.Next(each, port)];
    for (const auto& [neighbour, count] : cables) ++widths[neighbour][count];
    if (each == index) own = std::move(cables);
  }
  std::vector<std::string> missing;
  for (const auto& [neighbour, counts] : widths)
    for (const auto& [count, switches] : counts)
      if (switches * 2 > pod.size() && own[neighbour] < count)
        missing.push_back(NodeWords(input.subnet().node(input.graph.NodeOf(neighbour))));
  return missing;
}

void JudgePod(const CheckInput& input, const std::vector<std::uint32_t>& pod, Verdicts& out) {
  constexpr std::size_t kSwitchesMin = 3;
  std::map<std::size_t, std::size_t> counts;
  std::map<std::uint32_t, std::size_t> uplinks;
  for (const std::uint32_t index : pod) {
    uplinks[index] = Uplinks(input.graph, input.levels, index).size();
    ++counts[uplinks[index]];
  }
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  const std::size_t expected = most->first;
  if (pod.size() < kSwitchesMin || most->second * 3 < pod.size() * 2) {
    if (counts.size() == 1) return out.Pass(pod.size());
    return out.Unknown(
        Format("{} switches around {} have different numbers of uplinks, without a majority of two "
               "thirds; give a plan with --plan",
               pod.size(), NodeWords(input.subnet().node(input.graph.NodeOf(pod.front())))));
  }
  for (const std::uint32_t index : pod) {
    const Node& node = input.subnet().node(input.graph.NodeOf(index));
    if (uplinks[index] >= expected) {
      out.Pass();
      continue;
    }
    if (uplinks[index] * 2 < expected) {
      out.Unknown(
          Format("{} has {} uplinks where others have {}: it may be of another kind; give "
                 "a plan with --plan",
                 NodeWords(node), uplinks[index], expected));
      continue;
    }
    const std::vector<std::string> missing = MissingNeighbours(input, pod, index);
    out.Fail(
        {.subject = SubjectOf(input.subnet(), input.graph.EndOf(index, 0)),
         .key = "",
         .title = Format("{}: {} uplinks, expected {}{}", NodeWords(node), uplinks[index], expected,
                         missing.empty() ? std::string() : "; missing: " + ListSome(missing, 3)),
         .what = "cables to the level above",
         .expected = std::to_string(expected),
         .seen = std::to_string(uplinks[index]),
         .basis = Format("{} of {} switches of its group", most->second, pod.size()),
         .remedies = {Advice("Check the cables of these ports, and reseat or replace them.")}});
  }
}

void JudgeUplinks(const CheckInput& input, Verdicts& out) {
  if (input.levels.cables == 0) return;
  if (!input.levels.tree)
    return out.Unknown(Format("{}; give a plan with --plan", input.levels.why_no_tree));
  for (const auto& pod : PodsOf(input.graph, input.levels))
    if (input.levels.level[pod.front()] + 1U < input.levels.count) JudgePod(input, pod, out);
}

// Bandwidth of the ports of a switch to the level above, or to hosts and the level below.
double Bandwidth(const CheckInput& input, std::uint32_t index, bool up) {
  const Subnet& subnet = input.subnet();
  double sum = 0;
  for (const Port& port : subnet.node(input.graph.NodeOf(index)).ports) {
    if (port.peer == kNoNode || IsAggregationNode(subnet.node(port.peer))) continue;
    const std::uint32_t next = input.graph.IndexOf(port.peer);
    if ((next != kNoSwitch && input.levels.IsUp(index, next)) == up)
      sum += port.rate.GigabitsPerSecond();
  }
  return sum;
}

void JudgeOversubscription(const CheckInput& input, Verdicts& out) {
  if (input.levels.cables == 0) return;
  if (!input.levels.tree)
    return out.Unknown(Format("{}; give a plan with --plan", input.levels.why_no_tree));
  if (!input.expected.oversubscription_max)
    return out.Unknown("no limit of oversubscription: give one with --oversubscription");
  const double limit = *input.expected.oversubscription_max;
  for (std::uint32_t index = 0; index < input.graph.size(); ++index) {
    const double up = Bandwidth(input, index, true);
    if (up == 0) continue;
    const double ratio = Bandwidth(input, index, false) / up;
    if (ratio <= limit) {
      out.Pass();
      continue;
    }
    const Node& node = input.subnet().node(input.graph.NodeOf(index));
    out.Fail({.subject = SubjectOf(input.subnet(), input.graph.EndOf(index, 0)),
              .key = "",
              .title = Format("{}: oversubscription {:.2f}, expected at most {:.2f}",
                              NodeWords(node), ratio, limit),
              .what = "bandwidth down by bandwidth up",
              .expected = Format("at most {:.2f}", limit),
              .seen = Format("{:.2f}", ratio),
              .basis = "--oversubscription",
              .remedies = {Advice("Add uplinks, or move hosts to another switch.")}});
  }
}

}  // namespace

extern const Check subnet_tree_levels = {
    .id = "subnet_tree_levels",
    .title = "Cables between switches join adjacent levels of a tree",
    .severity = v1::SEVERITY_ERROR,
    .why = "A cable within a level is miswired; traffic over it goes down and up again.",
    .judge = JudgeLevels};

extern const Check subnet_uplinks_complete = {
    .id = "subnet_uplinks_complete",
    .title = "Switches of a group have the same number of uplinks",
    .severity = v1::SEVERITY_WARNING,
    .why = "A lost uplink takes bandwidth from all hosts below.",
    .judge = JudgeUplinks};

extern const Check subnet_oversubscription = {
    .id = "subnet_oversubscription",
    .title = "The oversubscription of each switch is within the limit",
    .severity = v1::SEVERITY_WARNING,
    .why = "Hosts cannot all send at full rate to other switches.",
    .judge = JudgeOversubscription};

}  // namespace fabric::subnet
