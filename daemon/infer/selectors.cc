#include "daemon/infer/selectors.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace fabric::infer {
namespace {

// Properties that a selector can match.
struct Cell {
  std::optional<std::uint32_t> rail;
  std::string_view model;
  std::string_view driver;
  std::string_view node;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

enum class By { kRail, kModel, kDriver, kRailAndModel, kRailAndDriver, kNode };

Cell CellOf(const Peer& peer, By by) {
  Cell cell;
  if (by == By::kNode) {
    cell.node = peer.node;
    return cell;
  }
  if (by != By::kModel && by != By::kDriver) cell.rail = peer.rail;
  if (by == By::kModel || by == By::kRailAndModel) cell.model = peer.model;
  if (by == By::kDriver || by == By::kRailAndDriver) cell.driver = peer.driver;
  return cell;
}

bool CanBeSelected(const Cell& cell, By by) {
  if ((by == By::kModel || by == By::kRailAndModel) && cell.model.empty()) return false;
  return (by != By::kDriver && by != By::kRailAndDriver) || !cell.driver.empty();
}

struct CellValue {
  const std::string* line = nullptr;
  std::size_t members = 0;
};
using Cells = std::map<Cell, CellValue>;

// Empty if members of one cell have different values.
std::optional<Cells> Divide(const std::vector<MemberValue>& members, By by) {
  Cells cells;
  for (const MemberValue& one : members) {
    const Cell cell = CellOf(*one.peer, by);
    CellValue& value = cells[cell];
    if (value.line != nullptr && *value.line != *one.line) return {};
    if (!CanBeSelected(cell, by)) return {};
    value.line = one.line;
    ++value.members;
  }
  return cells;
}

// "gpu-*" if it matches exactly these nodes of the fleet; else all names.
std::vector<std::string> Patterns(const std::vector<std::string>& fleet,
                                  const std::vector<std::string_view>& nodes) {
  std::vector<std::string> all(nodes.begin(), nodes.end());
  std::string_view begin = nodes[0];
  for (const std::string_view node : nodes)
    while (!node.starts_with(begin)) begin.remove_suffix(1);
  if (nodes.size() < 2 || begin.empty()) return all;
  const auto meant = static_cast<std::size_t>(std::ranges::count_if(
      fleet, [&](const std::string& node) { return node.starts_with(begin); }));
  return meant == nodes.size() ? std::vector{std::string(begin) + "*"} : all;
}

std::vector<v1::Selector> Selectors(const std::vector<std::string>& fleet,
                                    const std::vector<Cell>& cells) {
  // Combines the rails of one kind.
  std::map<std::pair<std::string_view, std::string_view>, v1::Selector> by_kind;
  std::vector<std::string_view> nodes;
  for (const Cell& cell : cells) {
    v1::Selector& selector = by_kind[{cell.model, cell.driver}];
    if (cell.rail) selector.add_rails(*cell.rail);
    if (!cell.node.empty()) nodes.push_back(cell.node);
  }
  std::vector<v1::Selector> selectors;
  for (auto& [kind, selector] : by_kind) {
    if (!kind.first.empty()) selector.add_models(std::string(kind.first));
    if (!kind.second.empty()) selector.add_drivers(std::string(kind.second));
    if (!nodes.empty())
      for (std::string& pattern : Patterns(fleet, nodes)) selector.add_nodes(std::move(pattern));
    selectors.push_back(std::move(selector));
  }
  return selectors;
}

std::vector<SelectedValue> ValuesOf(const std::vector<std::string>& fleet, const Cells& cells,
                                    bool some_undecided) {
  std::map<std::string, std::vector<Cell>> by_line;
  std::map<std::string, std::pair<std::size_t, const std::string*>> members;
  for (const auto& [cell, value] : cells) {
    by_line[*value.line].push_back(cell);
    members[*value.line].first += value.members;
    members[*value.line].second = value.line;
  }
  const auto most = std::max_element(
      members.begin(), members.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  const bool everywhere = !some_undecided && !members.contains("");
  std::vector<SelectedValue> values;
  if (everywhere) values.push_back({.line = most->second.second});
  for (const auto& [line, at] : members)
    if (!line.empty() && (!everywhere || at.second != most->second.second))
      values.push_back({.line = at.second, .where = Selectors(fleet, by_line[line])});
  return values;
}

std::size_t SelectorsIn(const std::vector<SelectedValue>& values) {
  std::size_t count = 0;
  for (const SelectedValue& value : values) count += value.where.size();
  return count;
}

}  // namespace

std::optional<std::vector<SelectedValue>> SelectValues(const std::vector<std::string>& nodes,
                                                       const std::vector<MemberValue>& members,
                                                       bool of_nodes, bool some_undecided) {
  if (std::all_of(members.begin(), members.end(),
                  [&](const MemberValue& one) { return *one.line == *members[0].line; }))
    return std::vector<SelectedValue>{{.line = members[0].line}};
  constexpr By kPorts[] = {By::kRail, By::kModel, By::kDriver, By::kRailAndModel,
                           By::kRailAndDriver};
  constexpr By kNodes[] = {By::kNode};
  std::optional<std::vector<SelectedValue>> best;
  for (const By by : of_nodes ? std::span<const By>(kNodes) : std::span<const By>(kPorts)) {
    const auto cells = Divide(members, by);
    if (!cells) continue;
    std::vector<SelectedValue> values = ValuesOf(nodes, *cells, some_undecided);
    if (!best || SelectorsIn(values) < SelectorsIn(*best)) best = std::move(values);
  }
  return best;
}

}  // namespace fabric::infer
