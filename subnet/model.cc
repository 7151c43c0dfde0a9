#include "subnet/model.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"

namespace fabric::subnet {
namespace {

struct SpeedRow {
  Speed speed;
  std::string_view name;
  double gigabits_per_lane;  // Data rate
};
constexpr SpeedRow kSpeeds[] = {
    {Speed::kSdr, "SDR", 2},      {Speed::kDdr, "DDR", 4},     {Speed::kQdr, "QDR", 8},
    {Speed::kFdr10, "FDR10", 10}, {Speed::kFdr, "FDR", 13.64}, {Speed::kEdr, "EDR", 25},
    {Speed::kHdr, "HDR", 50},     {Speed::kNdr, "NDR", 100},   {Speed::kXdr, "XDR", 200},
};

const SpeedRow* RowOf(Speed speed) {
  const auto* const row = std::ranges::find(kSpeeds, speed, &SpeedRow::speed);
  return row == std::end(kSpeeds) ? nullptr : row;
}

}  // namespace

double Rate::GigabitsPerSecond() const {
  const SpeedRow* const row = RowOf(speed);
  return row == nullptr ? 0 : row->gigabits_per_lane * lanes;
}

std::string ToString(Rate rate) {
  const SpeedRow* const row = RowOf(rate.speed);
  return Format("{}x{}", rate.lanes == 0 ? std::string("?") : std::to_string(rate.lanes),
                row == nullptr ? "?" : row->name);
}

std::optional<Rate> ParseRate(std::string_view text) {
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos || x == 0 || x > 2 || x + 1 == text.size()) return std::nullopt;
  const std::string_view lanes = text.substr(0, x);
  if (lanes.find_first_not_of("0123456789?") != std::string_view::npos) return std::nullopt;
  Rate rate;
  constexpr std::uint8_t kLanes[] = {1, 2, 4, 8, 12};
  for (const std::uint8_t known : kLanes)
    if (lanes == std::to_string(known)) rate.lanes = known;
  for (const SpeedRow& row : kSpeeds)
    if (text.substr(x + 1) == row.name) rate.speed = row.speed;
  return rate;
}

std::string ToString(const Problem& problem) {
  if (problem.line == 0) return Format("{}: {}", problem.file, problem.message);
  return Format("{}:{}: {}", problem.file, problem.line, problem.message);
}

void Problems::Sort() {
  std::unordered_map<std::string, std::size_t> order;  // Of files
  for (const Problem& each : kept_) order.emplace(each.file, order.size());
  std::ranges::stable_sort(
      kept_, {}, [&](const Problem& each) { return std::pair(order.at(each.file), each.line); });
}

void Problems::Add(Problem problem) {
  ++count_;
  if (kept_.size() < kKept) kept_.push_back(std::move(problem));
}

const Port* Subnet::FindPort(End end) const {
  if (end.node >= nodes_.size() || end.port >= nodes_[end.node].ports.size()) return nullptr;
  return &port(end);
}

std::uint32_t Subnet::FindGuid(std::uint64_t guid) const {
  const auto at = by_guid_.find(guid);
  return at == by_guid_.end() ? kNoNode : at->second;
}

std::vector<Cable> Subnet::Cables() const {
  std::vector<Cable> cables;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node)
    for (std::uint32_t port = 1; port < nodes_[node].ports.size(); ++port) {
      const End from{node, port};
      const End to = nodes_[node].ports[port].Peer();
      if (!to.present()) continue;
      // A contradicted cable counts once, where it is listed.
      const Port* const far = FindPort(to);
      const bool mutual = far != nullptr && far->Peer() == from;
      if (!mutual || from <= to) cables.push_back({from, to});
    }
  return cables;
}

bool Subnet::HasRoutes() const {
  return std::ranges::any_of(nodes_, [](const Node& node) { return !node.routes.empty(); });
}

std::size_t Subnet::CountMixed() const {
  std::vector<std::uint32_t> part(nodes_.size(), kNoNode);
  std::vector<std::set<std::uint16_t>> lids;  // By part
  for (std::uint32_t first = 0; first < nodes_.size(); ++first) {
    if (part[first] != kNoNode) continue;
    const auto number = static_cast<std::uint32_t>(lids.size());
    lids.emplace_back();
    std::vector<std::uint32_t> queue = {first};
    part[first] = number;
    for (std::size_t at = 0; at < queue.size(); ++at)
      for (const Port& port : nodes_[queue[at]].ports) {
        if (IsAssigned(port.lid)) lids[number].insert(*port.lid);
        if (port.peer == kNoNode || part[port.peer] != kNoNode) continue;
        part[port.peer] = number;
        queue.push_back(port.peer);
      }
  }
  // A part counts if most of its LIDs are those of larger ones, and there are several.
  std::ranges::sort(lids, std::greater(), &std::set<std::uint16_t>::size);
  std::set<std::uint16_t> larger;
  std::size_t mixed = 0;
  for (std::set<std::uint16_t>& each : lids) {
    const auto shared = std::ranges::count_if(each, [&](auto lid) { return larger.contains(lid); });
    if (shared >= 2 && static_cast<std::size_t>(shared) * 2 >= each.size())
      mixed += mixed == 0 ? 2 : 1;
    larger.merge(each);
  }
  return mixed;
}

const Manager* Subnet::Master() const {
  const Manager* master = nullptr;
  for (const Manager& manager : managers_) {
    if (manager.state != ManagerState::kMaster) continue;
    if (master != nullptr) return nullptr;
    master = &manager;
  }
  return master;
}

std::size_t Subnet::CountNodes(NodeType type) const {
  return static_cast<std::size_t>(std::ranges::count(nodes_, type, &Node::type));
}

bool IsAggregationNode(const Node& node) {
  constexpr std::uint32_t kQuantumAggregation = 0xcf09;
  return node.type == NodeType::kAdapter &&
         (node.device_id == kQuantumAggregation ||
          node.description.find("Aggregation Node") != std::string::npos);
}

}  // namespace fabric::subnet
