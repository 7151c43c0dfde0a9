#include "subnet/checks/levels.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::subnet {
namespace {

bool HasHost(const Graph& graph, std::uint32_t index) {
  const Subnet& subnet = graph.subnet();
  return std::ranges::any_of(subnet.node(graph.NodeOf(index)).ports, [&](const Port& port) {
    return port.peer != kNoNode && subnet.node(port.peer).type == NodeType::kAdapter &&
           !IsAggregationNode(subnet.node(port.peer));
  });
}

void SpreadLevels(const Graph& graph, Levels& levels) {
  std::vector<std::uint32_t> queue;
  for (std::uint32_t index = 0; index < graph.size(); ++index)
    if (HasHost(graph, index)) {
      levels.level[index] = 0;
      queue.push_back(index);
    }
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (std::uint32_t port = 1; port < graph.stride(); ++port) {
      const std::uint32_t next = graph.Next(queue[at], port);
      if (next == kNoSwitch || levels.level[next] != Levels::kUnknown) continue;
      if (levels.level[queue[at]] + 1 == Levels::kUnknown) continue;
      levels.level[next] = static_cast<std::uint8_t>(levels.level[queue[at]] + 1);
      queue.push_back(next);
    }
  for (const std::uint8_t level : levels.level)
    if (level != Levels::kUnknown) levels.count = std::max(levels.count, level + 1U);
}

}  // namespace

Levels LevelsOf(const Graph& graph) {
  constexpr std::size_t kOddShare = 10;  // At most one of 10 cables of a tree is odd.
  constexpr std::size_t kCablesMin = 4;
  Levels levels;
  levels.level.assign(graph.size(), Levels::kUnknown);
  SpreadLevels(graph, levels);
  for (const Cable& cable : graph.subnet().Cables()) {
    const std::uint32_t from = graph.IndexOf(cable.from.node);
    const std::uint32_t to = graph.IndexOf(cable.to.node);
    if (from == kNoSwitch || to == kNoSwitch) continue;
    ++levels.cables;
    if (levels.level[from] == levels.level[to]) levels.within.push_back(cable);
  }
  const std::size_t odd_max = std::max<std::size_t>(1, levels.cables / kOddShare);
  if (levels.cables == 0)
    levels.why_no_tree = "no cable between switches";
  else if (levels.count < 2)
    levels.why_no_tree = "each switch has hosts: no level above the leaves";
  else if (levels.cables < kCablesMin && !levels.within.empty())
    levels.why_no_tree = Format("{} cables between switches are too few", levels.cables);
  else if (levels.within.size() > odd_max)
    levels.why_no_tree = Format("not a tree: {} of {} cables between switches join one level",
                                levels.within.size(), levels.cables);
  levels.tree = levels.why_no_tree.empty();
  return levels;
}

std::vector<std::uint32_t> Uplinks(const Graph& graph, const Levels& levels, std::uint32_t index) {
  std::vector<std::uint32_t> ports;
  for (std::uint32_t port = 1; port < graph.stride(); ++port) {
    const std::uint32_t next = graph.Next(index, port);
    if (next != kNoSwitch && levels.IsUp(index, next)) ports.push_back(port);
  }
  return ports;
}

}  // namespace fabric::subnet
