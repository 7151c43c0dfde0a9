#include <nlohmann/json.hpp>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/subnet_files.h"
#include "subnet/routing/routes.h"
#include "subnet/words.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetRoutesOptions[] = {
    {.name = "SWITCH", .doc = "Name, GUID or LID of the switch.", .required = true},
    kSubnetFilesOption,
    kSubnetNameOption,
};

// The entry of one LID, and where it leads.
struct RouteRow {
  std::uint16_t lid = 0;
  std::string node;
  std::optional<std::uint32_t> port;
  std::string next;  // Far end of the port; empty: none
  std::size_t hops = 0;
  std::string why_not;  // It does not arrive; empty: it does
};

RouteRow RowOf(const subnet::Graph& graph, std::uint32_t index, const subnet::Destination& to) {
  const subnet::Subnet& all = graph.subnet();
  const std::uint32_t node = graph.NodeOf(index);
  RouteRow row{.lid = to.lid, .node = subnet::EndWords(all, to.owner)};
  const std::uint8_t port = all.node(node).RouteTo(to.lid);
  if (port != subnet::kNoRoute && port != subnet::kUnknownRoute) row.port = port;
  const subnet::Port* const out = row.port ? all.FindPort({node, *row.port}) : nullptr;
  if (out != nullptr && port != 0 && out->peer != subnet::kNoNode)
    row.next = subnet::EndWords(all, out->Peer());
  const subnet::Path path = subnet::FollowRoute(graph, index, to);
  for (const subnet::End end : path.ports) row.hops += end.port != 0 ? 1 : 0;
  if (!path.arrives) row.why_not = path.why_not;
  return row;
}

Result<Output> RunSubnetRoutes(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  ASSIGN_OR_RETURN(const std::uint32_t node, FindSwitch(all, arguments.Text("SWITCH")));
  if (all.node(node).routes.empty())
    return Status(
        Code::kFailedPrecondition,
        Format("{}: no forwarding table: add the output of dump_lfts, opensm-lfts.dump or "
               "opensm.fdbs",
               subnet::NodeWords(all.node(node))));
  const subnet::Graph graph(all);
  Output output;
  Table table{.columns = {{.title = "LID", .right_aligned = true},
                          {.title = "NODE"},
                          {.title = "PORT", .right_aligned = true},
                          {.title = "HOPS", .right_aligned = true},
                          {.title = "NEXT"}}};
  std::vector<nlohmann::ordered_json> items;
  std::size_t lost = 0;
  for (const subnet::Destination& to : graph.destinations()) {
    const RouteRow row = RowOf(graph, graph.IndexOf(node), to);
    const bool arrives = row.why_not.empty();
    lost += arrives ? 0 : 1;
    table.rows.push_back({std::to_string(row.lid), row.node,
                          row.port ? std::to_string(*row.port) : "-",
                          arrives ? std::to_string(row.hops) : "-",
                          !arrives           ? "does not arrive: " + row.why_not
                          : row.next.empty() ? "-"
                                             : row.next});
    nlohmann::ordered_json item = {{"lid", row.lid}, {"node", row.node}, {"arrives", arrives}};
    if (row.port) item["port"] = *row.port;
    if (!row.next.empty()) item["next"] = row.next;
    if (arrives)
      item["hops"] = row.hops;
    else
      item["reason"] = row.why_not;
    items.push_back(std::move(item));
  }
  RETURN_IF_ERROR(PrintList(arguments, stream, "routes", items,
                            {{"switch", subnet::NameOf(all.node(node))}, {"lost", lost}}));
  output.before = ProblemLines(all.problems());
  if (lost > 0) {
    output.after = Format("{} of {} do not arrive by the tables that are known.\n", lost,
                          Plural(graph.destinations().size(), "LID"));
    output.exit_status = kExitFindings;
  }
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

extern const Command subnet_routes = {
    .path = "subnet routes",
    .summary = "Show the forwarding table of a switch: port and number of cables for each LID.",
    .description =
        "HOPS is the number of cables to the node by the tables of all switches on the way. NEXT "
        "is the far end of the port. Exits with 1 if a LID does not arrive; -o json has the "
        "reason. With adaptive routing, packets can take other ports.",
    .example =
        "fabricctl subnet routes leaf-3 ibnetdiscover.txt lfts.txt\n"
        "fabricctl subnet routes leaf-3 snapshot.json -o json",
    .options = kSubnetRoutesOptions,
    .run = RunSubnetRoutes,
};

}  // namespace fabric::ctl
