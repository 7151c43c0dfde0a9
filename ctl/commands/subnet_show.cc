#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "ctl/command.h"
#include "ctl/subnet_files.h"
#include "ctl/tables/cells.h"
#include "subnet/checks/levels.h"
#include "subnet/routing/routes.h"
#include "subnet/words.h"

namespace fabric::ctl {
namespace {

using SubnetJson = nlohmann::ordered_json;

constexpr Option kSubnetShowOptions[] = {kSubnetFilesOption, kSubnetNameOption};

// Names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;

std::string LevelsFact(const subnet::Graph& graph, const subnet::Levels& levels) {
  if (!levels.tree) return levels.why_no_tree;
  std::vector<std::size_t> sizes(levels.count);
  for (std::uint32_t index = 0; index < graph.size(); ++index)
    if (levels.level[index] != subnet::Levels::kUnknown) ++sizes[levels.level[index]];
  std::vector<std::string> texts;
  for (const std::size_t size : sizes) texts.push_back(std::to_string(size));
  return Join(texts, ", ") + " switches from the leaves up";
}

std::string RatesFact(const subnet::Subnet& all) {
  std::map<std::string, std::size_t> rates;
  for (const subnet::Cable& cable : all.Cables()) ++rates[ToString(all.port(cable.from).rate)];
  std::vector<std::string> texts;
  for (const auto& [rate, count] : rates) texts.push_back(Format("{} {}", count, rate));
  return Join(texts, ", ");
}

void AddRouteFacts(const subnet::Graph& graph, Facts& facts) {
  if (!graph.subnet().HasRoutes()) {
    facts.emplace_back("routing", "no forwarding tables in the files");
    return;
  }
  const subnet::RouteReport report = subnet::AnalyseRoutes(graph);
  facts.emplace_back("forwarding tables", Format("{} of {} switches", report.tables, graph.size()));
  facts.emplace_back("pairs", std::to_string(report.pairs));
  facts.emplace_back("pairs that do not arrive", std::to_string(report.unreachable));
  facts.emplace_back("pairs with unknown tables", std::to_string(report.unknown));
  for (const auto& [hops, pairs] : report.pairs_by_hops)
    facts.emplace_back(Format("pairs over {} switches", hops), std::to_string(pairs));
}

Facts FactsOf(const subnet::Subnet& all) {
  const subnet::Graph graph(all);
  Facts facts;
  for (const subnet::Source& source : all.sources())
    facts.emplace_back("source", Format("{}: {}{}{}", source.file, source.format,
                                        source.made_on.empty() ? "" : ", ", source.made_on));
  facts.emplace_back("switches", std::to_string(all.CountNodes(subnet::NodeType::kSwitch)));
  facts.emplace_back("adapters", std::to_string(all.CountNodes(subnet::NodeType::kAdapter)));
  facts.emplace_back("routers", std::to_string(all.CountNodes(subnet::NodeType::kRouter)));
  std::size_t not_listed = 0;
  for (const subnet::Node& node : all.nodes()) not_listed += node.listed ? 0 : 1;
  facts.emplace_back("nodes known by their cables only", std::to_string(not_listed));
  facts.emplace_back("cables", std::to_string(all.Cables().size()));
  facts.emplace_back("rates", RatesFact(all));
  facts.emplace_back("levels", LevelsFact(graph, subnet::LevelsOf(graph)));
  AddRouteFacts(graph, facts);
  facts.emplace_back("lines not read", std::to_string(all.problems().count()));
  return facts;
}

Result<Output> RunSubnetShow(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  Output output;
  output.before = ProblemLines(all.problems());
  Table table{.columns = {{.title = "WHAT"}, {.title = "VALUE"}}};
  std::vector<SubnetJson> items;
  for (const auto& [name, value] : FactsOf(all)) {
    table.rows.push_back({name, Cell(value)});
    items.push_back({{"what", name}, {"value", value}});
  }
  RETURN_IF_ERROR(PrintList(arguments, stream, "facts", items));
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

extern const Command subnet_show = {
    .path = "subnet show",
    .summary = "Summarize an InfiniBand subnet from files or the controller.",
    .description = "Shows sources, numbers of nodes and cables, levels and lengths of paths.",
    .example =
        "fabricctl subnet show ibnetdiscover.txt lfts.txt\n"
        "fabricctl subnet show snapshot.json -o json",
    .options = kSubnetShowOptions,
    .run = RunSubnetShow,
};

}  // namespace fabric::ctl
