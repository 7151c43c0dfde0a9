#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/topology_graph.h"
#include "ctl/tables/topology_tree.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kNodesShown = 4;

// The ports of a rail whose cards are in one place, by one source.
struct RailCards {
  std::size_t ports = 0;
  std::size_t active = 0;
  std::set<std::string> nodes;
};
// By rail, PCI address and source.
using RailTable = std::map<std::tuple<std::uint32_t, std::string, std::string>, RailCards>;

RailTable RailsOf(const v1::ListDevicesResponse& response) {
  RailTable rails;
  for (const v1::DeviceSummary& port : response.devices()) {
    if (!port.has_rail()) continue;
    RailCards& cards = rails[{port.rail(), port.pci_address(), port.rail_source()}];
    ++cards.ports;
    cards.active += port.state() == v1::PORT_STATE_ACTIVE ? 1 : 0;
    cards.nodes.insert(port.node());
  }
  return rails;
}

std::string NodesCell(const std::set<std::string>& nodes, bool all) {
  return ListSome({nodes.begin(), nodes.end()}, all ? nodes.size() : kNodesShown);
}

constexpr Option kTopologyOptions[] = {
    {.name = "as",
     .fallback = "table",
     .choices = "table|tree|dot|svg",
     .doc = "tree: leaf switches of each rail, with the ports below them that are not ACTIVE or "
            "have an open finding; -o wide: all ports. dot, svg: links of leaf switches and nodes "
            "for Graphviz, or as a picture."},
    kSelectorOption,
    kFilterOption,
};

// A picture has one format, and a terminal cannot repeat it.
Status CheckPicture(const Arguments& arguments, std::string_view as) {
  for (const std::string_view option : {"output", "watch", "sort-by"})
    if (arguments.Given(option))
      return {Code::kInvalidArgument, Format("expected --as {} or --{}, saw both", as, option)};
  return {};
}

Result<Output> RunTopology(Client& client, const Arguments& arguments, Stream& stream) {
  const std::string as = arguments.Text("as");
  const bool picture = as == "dot" || as == "svg";
  if (picture) RETURN_IF_ERROR(CheckPicture(arguments, as));
  v1::ListDevicesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListDevicesResponse response, client.List<v1::ListDevicesResponse>(request));
  if (arguments.Has("selector")) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, NodesOf(client, arguments, ""));
    KeepNodes(names, &v1::DeviceSummary::node, *response.mutable_devices());
  }
  if (picture) {
    // Complete as it is: the renderer must not change it.
    (void)stream.Write(as == "dot" ? TopologyDot(response) : TopologySvg(response));
    return Output();
  }
  Output output;
  if (as == "tree") {
    ASSIGN_OR_RETURN(const auto findings,
                     client.List<v1::ListFindingsResponse>(v1::ListFindingsRequest()));
    output.before = TopologyTree(response, findings, arguments.Text("output") == "wide");
    output.message = std::make_unique<v1::ListDevicesResponse>(std::move(response));
    return output;
  }
  Table table{.columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "CARD"},
                          {.title = "RAIL BY"},
                          {.title = "PORTS", .right_aligned = true},
                          {.title = "ACTIVE", .right_aligned = true},
                          {.title = "NODES", .elastic = true},
                          {.title = "ALL NODES", .wide_only = true}},
              .empty_note = "No rails."};
  for (const auto& [key, cards] : RailsOf(response)) {
    const auto& [rail, address, source] = key;
    table.rows.push_back({Format("{}", rail), Cell(address), Cell(source),
                          Format("{}", cards.ports), Format("{}", cards.active),
                          NodesCell(cards.nodes, false), NodesCell(cards.nodes, true)});
    output.names.push_back(Format("{}", rail));
  }
  output.names.erase(std::unique(output.names.begin(), output.names.end()), output.names.end());
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListDevicesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command topology = {
    .path = "topology",
    .summary = "Show the rails and leaf switches: as a table of cards, a tree or a picture.",
    .description =
        "A row has the ports of one rail whose cards have the same PCI address. RAIL BY is the "
        "source of the rail: profile, gpu (GPU affinity by the profile), product (the place of the "
        "card on most nodes of the product), network (subnet or switch), past (the place on this "
        "node before), or order (of the ports). Several rows of a rail show nodes whose cards are "
        "in other places.",
    .example =
        "fabricctl topology\n"
        "fabricctl topology --as tree -l pool=h100 --filter 'rail=0'\n"
        "fabricctl topology --as svg > fabric.svg",
    .options = kTopologyOptions,
    .run = RunTopology,
    .watch = true,
};

}  // namespace fabric::ctl
