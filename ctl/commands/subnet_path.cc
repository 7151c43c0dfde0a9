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

// The hops of a path, as rows and as items of JSON.
void AddHops(const subnet::Subnet& all, const subnet::Path& path, Table& table,
             std::vector<nlohmann::ordered_json>& items) {
  std::size_t number = 0;
  for (const subnet::End end : path.ports) {
    const subnet::Port* const port = all.FindPort(end);
    if (end.port == 0 || port == nullptr || port->peer == subnet::kNoNode) continue;
    const std::string near = subnet::EndWords(all, end);
    const std::string far = subnet::EndWords(all, port->Peer());
    table.rows.push_back({std::to_string(++number), near, far, ToString(port->rate)});
    items.push_back({{"from", near}, {"to", far}, {"rate", ToString(port->rate)}});
  }
}

Result<Output> RunSubnetPath(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const subnet::Subnet all, ReadSubnet(client, arguments, stream));
  ASSIGN_OR_RETURN(const std::vector<EndPair> pairs,
                   FindPairs(all, arguments.Text("FROM"), arguments.Text("TO")));
  const subnet::Graph graph(all);
  Output output;
  Table table{.columns = {{.title = "HOP", .right_aligned = true},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "RATE"}}};
  std::vector<nlohmann::ordered_json> items;
  auto paths = nlohmann::ordered_json::array();
  for (const EndPair& pair : pairs) {
    ASSIGN_OR_RETURN(const subnet::Path path, FindPath(graph, pair.from, pair.to));
    const std::size_t before = items.size();
    AddHops(all, path, table, items);
    const std::string from = subnet::EndWords(all, pair.from);
    const std::string to = subnet::EndWords(all, pair.to);
    paths.push_back({{"from", from},
                     {"to", to},
                     {"hops", items.size() - before},
                     {"arrives", path.arrives},
                     {"reason", path.why_not}});
    if (path.arrives) continue;
    output.after += pairs.size() == 1
                        ? Format("does not arrive: {}\n", path.why_not)
                        : Format("{} to {} does not arrive: {}\n", from, to, path.why_not);
    output.exit_status = kExitFindings;
  }
  const bool arrives = output.exit_status != kExitFindings;
  RETURN_IF_ERROR(
      PrintList(arguments, stream, "hops", items, {{"arrives", arrives}, {"paths", paths}}));
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

extern const Command subnet_path = {
    .path = "subnet path",
    .summary = "Show the cables of the path between two nodes of an InfiniBand subnet.",
    .description =
        "Follows the forwarding tables. Of hosts with several adapters, the adapters with the same "
        "device name are joined: one path for each rail. Exits with 1 if a path does not arrive; "
        "-o json has the reason. With adaptive routing, packets can take other paths.",
    .example =
        "fabricctl subnet path gpu-1 gpu-7 ibnetdiscover.txt lfts.txt\n"
        "fabricctl subnet path gpu-1 gpu-7 snapshot.json",
    .options = kSubnetPathOptions,
    .run = RunSubnetPath,
};

}  // namespace fabric::ctl
