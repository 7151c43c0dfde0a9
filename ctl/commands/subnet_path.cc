#include <nlohmann/json.hpp>

#include "base/text.h"
#include "ctl/command.h"
#include "ctl/subnet_files.h"
#include "ctl/tables/cells.h"
#include "subnet/routing/routes.h"
#include "subnet/words.h"

namespace fabric::ctl {
namespace {

constexpr Option kSubnetPathOptions[] = {
    {.name = "FROM", .doc = "Source: host, 'HOST DEVICE', switch, GUID or LID.", .required = true},
    {.name = "TO", .doc = "Destination, as above.", .required = true},
    kSubnetFilesOption,
    kSubnetNameOption,
};

Result<subnet::Path> FindPath(const subnet::Graph& graph, subnet::End from, subnet::End to) {
  const subnet::Subnet& all = graph.subnet();
  if (!all.HasRoutes())
    return Status(Code::kFailedPrecondition,
                  "no forwarding tables: add the output of dump_lfts, opensm-lfts.dump or "
                  "opensm.fdbs");
  const auto address = all.port(to).lid;
  const subnet::Destination* const target =
      subnet::IsAssigned(address) ? graph.Find(*address) : nullptr;
  if (target == nullptr)
    return Status(Code::kFailedPrecondition,
                  Format("{}: expected a LID of its own and a cable to a switch, saw none",
                         subnet::EndWords(all, to)));
  const bool is_switch = all.node(from.node).type == subnet::NodeType::kSwitch;
  const std::uint32_t first = is_switch ? from.node : all.port(from).peer;
  if (first == subnet::kNoNode || graph.IndexOf(first) == subnet::kNoSwitch)
    return Status(Code::kFailedPrecondition, Format("{}: expected a cable to a switch, saw none",
                                                    subnet::EndWords(all, from)));
  subnet::Path path = subnet::FollowRoute(graph, graph.IndexOf(first), *target);
  if (!is_switch) path.ports.insert(path.ports.begin(), from);
  return path;
}

Result<Output> RunSubnetPath(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments));
  ASSIGN_OR_RETURN(const subnet::End from, FindEnd(all, arguments.Text("FROM")));
  ASSIGN_OR_RETURN(const subnet::End to, FindEnd(all, arguments.Text("TO")));
  const subnet::Graph graph(all);
  ASSIGN_OR_RETURN(const subnet::Path path, FindPath(graph, from, to));
  Output output;
  Table table{.columns = {{.title = "HOP", .right_aligned = true},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "RATE"}}};
  std::vector<nlohmann::ordered_json> items;
  for (const subnet::End end : path.ports) {
    const subnet::Port* const port = all.FindPort(end);
    if (end.port == 0 || port == nullptr || port->peer == subnet::kNoNode) continue;
    const std::string near = subnet::EndWords(all, end);
    const std::string far = subnet::EndWords(all, port->Peer());
    table.rows.push_back({std::to_string(table.rows.size() + 1), near, far, ToString(port->rate)});
    items.push_back({{"from", near}, {"to", far}, {"rate", ToString(port->rate)}});
  }
  RETURN_IF_ERROR(PrintList(arguments, stream, "hops", items));
  output.tables.push_back(std::move(table));
  if (!path.arrives) {
    output.after = Format("does not arrive: {}\n", path.why_not);
    output.exit_status = kExitFindings;
  }
  return output;
}

}  // namespace

extern const Command subnet_path = {
    .path = "subnet path",
    .summary = "Show the cables of the path between two nodes of an InfiniBand subnet.",
    .description =
        "Follows the forwarding tables. Exits with 1 if the path does not arrive. With adaptive "
        "routing, packets can take other paths.",
    .example =
        "fabricctl subnet path gpu-1 gpu-7 ibnetdiscover.txt lfts.txt\n"
        "fabricctl subnet path gpu-1 gpu-7 snapshot.json",
    .options = kSubnetPathOptions,
    .run = RunSubnetPath,
};

}  // namespace fabric::ctl
