// Checks of virtual lanes: SL-to-VL and VL arbitration tables of the ends of links.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

v1::Remedy WriteTables() {
  return Advice(
      "Check the QoS options of the subnet manager (qos_sl2vl, qos_vlarb_low, qos_vlarb_high of "
      "opensm). Then make it write all tables again: send SIGHUP to opensm.");
}

// Calls `judge` for each end of a link with several lanes and its tables. Other ends pass, or are
// UNKNOWN without tables.
template <class Judge>
void ForEachEnd(const Subnet& subnet, Verdicts& out, Judge judge) {
  std::size_t unread = 0;
  for (const Cable& cable : subnet.Cables())
    for (const End end : {cable.from, cable.to}) {
      const PortDetails* const details = subnet.DetailsOf(subnet.port(end));
      if (details != nullptr && details->lanes == 1)
        out.Pass();
      else if (details == nullptr || details->lanes == 0 || !details->lane_of_level)
        ++unread;
      else
        judge(end, *details);
    }
  if (unread > 0)
    out.Unknown(Format("virtual lanes of {}: {}", Plural(unread, "port"), kNeedsReading));
}

// Why packets of service level 0 cannot leave; empty: they can.
std::string WhyDropped(const PortDetails& details) {
  const std::uint8_t lane = details.lane_of_level->front();
  if (lane == kDropLane) return "lane 15, which drops them";
  if (lane >= details.lanes)
    return Format("lane {}; the link has lanes 0 to {}", lane, details.lanes - 1);
  if (details.served_lanes != 0 && (details.served_lanes & 1U << lane) == 0)
    return Format("lane {}, which has no weight in the VL arbitration tables", lane);
  return {};
}

void JudgeUsable(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  ForEachEnd(subnet, out, [&](End end, const PortDetails& details) {
    const std::string why = WhyDropped(details);
    if (why.empty()) return out.Pass();
    out.Fail({.subject = SubjectOf(subnet, end),
              .key = std::to_string(end.port),
              .title = Format("{}: packets of service level 0 use {}", EndWords(subnet, end), why),
              .what = "virtual lane of service level 0",
              .expected = Format("0 to {}, with a weight", details.lanes - 1),
              .seen = why,
              .remedies = {WriteTables()}});
  });
}

// Ports that should have one table: of adapters, of switches to adapters, and between switches.
using Kind = std::tuple<NodeType, NodeType, std::uint8_t>;

std::string TableText(const LaneOfLevel& lanes) {
  std::vector<std::string> texts;
  for (const std::uint8_t lane : lanes) texts.push_back(std::to_string(lane));
  return Join(texts, " ");
}

struct TableOfEnd {
  End end;
  LaneOfLevel lanes{};
};

void JudgeKind(const Subnet& subnet, const std::vector<TableOfEnd>& ends, Verdicts& out) {
  std::map<LaneOfLevel, std::size_t> counts;
  for (const TableOfEnd& each : ends) ++counts[each.lanes];
  const auto most = MajorityOf(counts, ends.size());
  if (most == counts.end()) return out.Pass(ends.size());
  for (const TableOfEnd& each : ends) {
    if (each.lanes == most->first) {
      out.Pass();
      continue;
    }
    out.Fail(
        {.subject = SubjectOf(subnet, each.end),
         .key = std::to_string(each.end.port),
         .title = Format("{}: virtual lanes {} for service levels 0 to 15, expected {}",
                         EndWords(subnet, each.end), TableText(each.lanes), TableText(most->first)),
         .what = "virtual lane of each service level",
         .expected = TableText(most->first),
         .seen = TableText(each.lanes),
         .basis = Format("{} of {} ports of this kind", most->second, ends.size()),
         .remedies = {WriteTables()}});
  }
}

void JudgeEqual(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  const std::set<std::uint32_t> by_input = ModelsWithLanesByInput(subnet);
  std::map<Kind, std::vector<TableOfEnd>> kinds;
  std::size_t skipped = 0;
  ForEachEnd(subnet, out, [&](End end, const PortDetails& details) {
    const Node& node = subnet.node(end.node);
    if (node.type == NodeType::kSwitch && by_input.contains(node.device_id)) {
      ++skipped;
      return;
    }
    const Node& peer = subnet.node(subnet.port(end).peer);
    kinds[{node.type, peer.type, details.lanes}].push_back({end, *details.lane_of_level});
  });
  for (const auto& [kind, ends] : kinds) JudgeKind(subnet, ends, out);
  if (skipped > 0)
    out.Unknown(
        Format("SL-to-VL tables of {}: they differ by the input port, and were read for "
               "one input port only",
               Plural(skipped, "port")));
}

}  // namespace

std::set<std::uint32_t> ModelsWithLanesByInput(const Subnet& subnet) {
  std::set<std::uint32_t> models;
  for (const Node& node : subnet.nodes())
    if (node.lanes_by_input) models.insert(node.device_id);
  return models;
}

extern const Check subnet_default_lane_usable = {
    .id = "subnet_default_lane_usable",
    .title = "Packets of service level 0 have a virtual lane at each port",
    .severity = v1::SEVERITY_ERROR,
    .why =
        "A port drops packets of a service level without a lane, and never sends those of a "
        "lane without a weight. Most traffic uses service level 0.",
    .judge = JudgeUsable};

extern const Check subnet_lanes_equal = {
    .id = "subnet_lanes_equal",
    .title = "Ports of one kind map service levels to the same virtual lanes",
    .severity = v1::SEVERITY_WARNING,
    .why =
        "If one port maps a service level to another lane, traffic that was kept apart shares "
        "buffers there, and routing by lanes can deadlock.",
    .judge = JudgeEqual};

}  // namespace fabric::subnet
