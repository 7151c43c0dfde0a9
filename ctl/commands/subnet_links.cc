#include <nlohmann/json.hpp>

#include "base/text.h"
#include "ctl/command.h"
#include "ctl/subnet_files.h"
#include "ctl/tables/cells.h"
#include "subnet/checks/levels.h"
#include "subnet/words.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetLinksOptions[] = {kSubnetFilesOption, kSubnetNameOption};
constexpr Option kSubnetSwitchesOptions[] = {kSubnetFilesOption, kSubnetNameOption};

Result<Output> RunSubnetLinks(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  Output output;
  Table table{.columns = {{.title = "FROM"},
                          {.title = "PORT", .right_aligned = true},
                          {.title = "TO"},
                          {.title = "TO PORT", .right_aligned = true},
                          {.title = "RATE"},
                          {.title = "GUID", .wide_only = true},
                          {.title = "TO GUID", .wide_only = true}}};
  std::vector<nlohmann::ordered_json> items;
  for (const subnet::Cable& cable : all.Cables()) {
    const subnet::Node& from = all.node(cable.from.node);
    const subnet::Node& to = all.node(cable.to.node);
    const std::string rate = ToString(all.port(cable.from).rate);
    const std::string guid = subnet::GuidText(from.guid);
    const std::string to_guid = subnet::GuidText(to.guid);
    const bool known = all.port(cable.from).rate.known();
    table.rows.push_back({subnet::NameOf(from), std::to_string(cable.from.port), subnet::NameOf(to),
                          std::to_string(cable.to.port), known ? rate : std::string(kAbsent), guid,
                          to_guid});
    items.push_back({{"from", subnet::NameOf(from)},
                     {"from_guid", guid},
                     {"from_port", cable.from.port},
                     {"to", subnet::NameOf(to)},
                     {"to_guid", to_guid},
                     {"to_port", cable.to.port},
                     {"rate", rate}});
  }
  RETURN_IF_ERROR(PrintList(arguments, stream, "links", items));
  output.before = ProblemLines(all.problems());
  output.tables.push_back(std::move(table));
  return output;
}

// Cables of a switch to hosts, up, and to other switches.
struct SwitchCounts {
  std::size_t hosts = 0;
  std::size_t up = 0;
  std::size_t other = 0;
};

SwitchCounts CountCables(const subnet::Graph& graph, const subnet::Levels& levels,
                         std::uint32_t index) {
  SwitchCounts counts;
  const subnet::Subnet& all = graph.subnet();
  for (const subnet::Port& port : all.node(graph.NodeOf(index)).ports) {
    if (port.peer == subnet::kNoNode || subnet::IsAggregationNode(all.node(port.peer))) continue;
    const std::uint32_t next = graph.IndexOf(port.peer);
    if (next == subnet::kNoSwitch)
      ++counts.hosts;
    else if (levels.IsUp(index, next))
      ++counts.up;
    else
      ++counts.other;
  }
  return counts;
}

Result<Output> RunSubnetSwitches(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  const subnet::Graph graph(all);
  const subnet::Levels levels = subnet::LevelsOf(graph);
  Output output;
  Table table{.columns = {{.title = "SWITCH"},
                          {.title = "LID", .right_aligned = true},
                          {.title = "LEVEL", .right_aligned = true},
                          {.title = "HOSTS", .right_aligned = true},
                          {.title = "UP", .right_aligned = true},
                          {.title = "OTHER", .right_aligned = true},
                          {.title = "FIRMWARE"},
                          {.title = "BOARD", .wide_only = true},
                          {.title = "GUID", .wide_only = true}}};
  std::vector<nlohmann::ordered_json> items;
  for (std::uint32_t index = 0; index < graph.size(); ++index) {
    const subnet::Node& node = all.node(graph.NodeOf(index));
    const SwitchCounts counts = CountCables(graph, levels, index);
    const bool with_lid = !node.ports.empty() && subnet::IsAssigned(node.ports[0].lid);
    const bool with_level = levels.tree && levels.level[index] != subnet::Levels::kUnknown;
    nlohmann::ordered_json item = {{"switch", subnet::NameOf(node)},
                                   {"guid", subnet::GuidText(node.guid)},
                                   {"hosts", counts.hosts},
                                   {"up", counts.up},
                                   {"other", counts.other}};
    if (with_lid) item["lid"] = *node.ports[0].lid;
    if (with_level) item["level"] = levels.level[index];
    if (!node.firmware.empty()) item["firmware"] = node.firmware;
    if (!node.firmware_board.empty()) item["board"] = node.firmware_board;
    items.push_back(std::move(item));
    table.rows.push_back(
        {subnet::NameOf(node), NumberCell(with_lid, with_lid ? *node.ports[0].lid : 0U),
         NumberCell(with_level, levels.level[index]), std::to_string(counts.hosts),
         std::to_string(counts.up), std::to_string(counts.other), Cell(node.firmware),
         Cell(node.firmware_board), subnet::GuidText(node.guid)});
    output.names.push_back(subnet::NameOf(node));
  }
  RETURN_IF_ERROR(PrintList(arguments, stream, "switches", items));
  output.before = ProblemLines(all.problems());
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

extern const Command subnet_links = {
    .path = "subnet links",
    .summary = "List the cables of an InfiniBand subnet from files or the controller.",
    .description = "Each cable once, with both ends and its rate.",
    .example =
        "fabricctl subnet links ibnetdiscover.txt -o json\n"
        "fabricctl subnet links snapshot.json -o csv",
    .options = kSubnetLinksOptions,
    .run = RunSubnetLinks,
};

extern const Command subnet_switches = {
    .path = "subnet switches",
    .summary = "List the switches of an InfiniBand subnet from files or the controller.",
    .description =
        "LEVEL is 0 for switches with hosts. HOSTS, UP and OTHER count cables: to hosts, to the "
        "level above, and to other switches. Aggregation nodes are not counted.",
    .example =
        "fabricctl subnet switches ibnetdiscover.txt\n"
        "fabricctl subnet switches snapshot.json -o wide",
    .options = kSubnetSwitchesOptions,
    .run = RunSubnetSwitches,
};

}  // namespace fabric::ctl
