
#include <map>
#include <set>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/item_progress.h"
#include "ctl/render.h"
#include "ctl/tables/cells.h"
#include "nccl/advice.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kNcclNodesShown = 4;
constexpr char kUndecided[] = "(undecided)";

constexpr Option kNcclEnvOptions[] = {
    NodesOption(
        "NODES",
        "Nodes of the job: n1,n2, gpu[001-016] or pool=h100. Default: all connected nodes."),
    kSelectorOption,
    kFilterOption,
};

Result<std::vector<std::string>> JobNodes(Client& client, const Arguments& arguments) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, NodesOf(client, arguments, "NODES"));
  if (!names.empty()) return names;
  v1::ListNodesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(const auto response, client.List<v1::ListNodesResponse>(request));
  for (const v1::NodeSummary& node : response.nodes())
    if (node.state() == v1::NODE_STATE_CONNECTED) names.push_back(node.name());
  return names;
}

// What the nodes need for one variable: by value, "" for "not set".
struct Needs {
  std::map<std::string, std::vector<std::string>> nodes;  // By value
  std::map<std::string, std::string> reasons;             // By value, of the first node
};

void AddAdvice(const std::string& node, const v1::NcclAdvice& advice,
               std::map<std::string, Needs>& all) {
  const auto add = [&](const std::string& name, const std::string& value,
                       const std::string& reason) {
    Needs& needs = all[name];
    needs.nodes[value].push_back(node);
    needs.reasons.emplace(value, reason);
  };
  for (const v1::NcclVariable& one : advice.variables()) add(one.name(), one.value(), one.reason());
  for (const v1::NcclRemark& one : advice.left_unset()) add(one.name(), "", one.reason());
  for (const v1::NcclRemark& one : advice.undecided()) add(one.name(), kUndecided, one.reason());
}

Result<Output> RunNcclEnv(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, JobNodes(client, arguments));
  if (names.empty()) return Status(Code::kNotFound, "no connected node");
  std::map<std::string, Needs> all;
  std::vector<std::string> without;
  NodeProgress progress(stream, "nccl-env", names.size());
  for (const std::string& name : names) {
    progress.Next();
    v1::GetNodeRequest request;
    request.set_name(name);
    request.set_fields("snapshot");  // Without the coverage, which takes long
    ASSIGN_OR_RETURN(const auto node, client.Call<v1::GetNodeResponse>(request));
    const v1::NcclAdvice advice = nccl::Advise(node.snapshot());
    if (advice.ports().empty()) without.push_back(name);
    AddAdvice(name, advice, all);
  }
  Output output;
  Table table{.columns = {{.title = "VARIABLE"},
                          {.title = "VALUE"},
                          {.title = "NODES", .right_aligned = true},
                          {.title = "WHERE", .elastic = true},
                          {.title = "REASON", .elastic = true}}};
  std::size_t differing = 0;
  for (const auto& [name, needs] : all) {
    // NCCL's default is right on all nodes.
    if (needs.nodes.size() == 1 && needs.nodes.begin()->first.empty()) continue;
    std::size_t count = 0;
    for (const auto& [value, nodes] : needs.nodes) count += nodes.size();
    const bool undecided = needs.nodes.size() == 1 && needs.nodes.begin()->first == kUndecided;
    // A node without an entry does not need the variable.
    const bool all_nodes = needs.nodes.size() == 1 && count == names.size();
    differing += all_nodes || undecided ? 0 : 1;
    for (const auto& [value, nodes] : needs.nodes)
      table.rows.push_back({name, value.empty() ? "(not set)" : Cell(value),
                            Format("{}", nodes.size()),
                            all_nodes ? "all" : ListSome(nodes, kNcclNodesShown, nodes.size()),
                            Cell(needs.reasons.at(value))});
  }
  output.before = Format("{}: {}.\n", Plural(names.size(), "node"),
                         differing == 0 ? std::string("all need the same values")
                                        : Plural(differing, "variable") + " with different values");
  if (!without.empty())
    output.after = Format("Without a port that NCCL can use: {}\n",
                          ListSome(without, kNcclNodesShown, without.size()));
  output.exit_status = differing > 0 || !without.empty() ? kExitFindings : kExitOk;
  output.message = RowsMessage(table, "variables");
  output.names = names;
  output.tables.push_back(std::move(table));
  return output;
}

}  // namespace

extern const Command nccl_env = {
    .path = "nccl-env",
    .summary = "Show the NCCL variables that the nodes of a job need, and where they differ.",
    .description =
        "One row for each value of a variable. A job has one value for all nodes: a variable with "
        "several rows needs your decision, or a repair of the nodes that differ. For one node with "
        "all reasons: `fabric-agent nccl-env` on it. Exits with 1 if values differ or a node has "
        "no "
        "port that NCCL can use.",
    .example =
        "fabricctl nccl-env gpu[001-016]\n"
        "fabricctl nccl-env n1,n2 -o json",
    .options = kNcclEnvOptions,
    .run = RunNcclEnv,
};

}  // namespace fabric::ctl
