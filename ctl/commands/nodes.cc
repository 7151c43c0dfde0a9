#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "proto/labels.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kNodesOptions[] = {kSelectorOption, kFilterOption};

std::string_view StateName(v1::NodeState state) {
  switch (state) {
    case v1::NODE_STATE_CONNECTED: return "connected";
    case v1::NODE_STATE_LOST: return "lost";
    default: return "";
  }
}

Result<Output> RunNodes(Client& client, const Arguments& arguments, Stream& stream) {
  v1::ListNodesRequest request;
  request.set_filter(arguments.Text("filter"));
  ASSIGN_OR_RETURN(v1::ListNodesResponse response, client.List<v1::ListNodesResponse>(request));
  if (arguments.Has("selector")) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, NodesOf(client, arguments, ""));
    KeepNodes(names, &v1::NodeSummary::name, *response.mutable_nodes());
  }
  Output output;
  Table table{.columns = {{.title = "NAME"},
                          {.title = "STATE", .coloured = true},
                          {.title = "DEVICES", .right_aligned = true},
                          {.title = "ACTIVE PORTS", .right_aligned = true},
                          {.title = "GPUS", .right_aligned = true},
                          {.title = "FINDINGS", .right_aligned = true},
                          {.title = "GAPS", .right_aligned = true},
                          {.title = "AGE", .right_aligned = true},
                          {.title = "LABELS", .wide_only = true},
                          {.title = "MAINTENANCE", .wide_only = true},
                          {.title = "SINCE", .wide_only = true},
                          {.title = "REPORTED", .wide_only = true},
                          {.title = "KERNEL", .wide_only = true},
                          {.title = "AGENT", .wide_only = true}},
              .empty_note = arguments.Has("filter") || arguments.Has("selector")
                                ? "No node matches."
                                : "No nodes; no agent has reported yet."};
  for (const v1::NodeSummary& summary : response.nodes()) {
    table.rows.push_back({
        Cell(summary.name()),
        Cell(StateName(summary.state())),
        Format("{}", summary.devices()),
        Format("{}/{}",
               summary.has_ports_active() && summary.state() != v1::NODE_STATE_LOST
                   ? Format("{}", summary.ports_active())
                   : std::string("?"),
               summary.ports()),
        Format("{}", summary.gpus()),
        Format("{}", summary.findings_open()),
        Format("{}", summary.gaps()),
        AgeCell(summary.state_since(), stream.Now()),
        Cell(LabelsText(summary.labels())),
        Cell(summary.maintenance()),
        ToString(summary.state_since()),
        ToString(summary.reported_at()),
        Cell(summary.kernel_release()),
        Cell(summary.agent_version()),
    });
    output.names.push_back(summary.name());
    if (!summary.maintenance().empty())
      output.after += Format("{} is in maintenance {}\n", summary.name(), summary.maintenance());
    if (summary.state() == v1::NODE_STATE_LOST)
      output.after += Format("{} was lost at {}: {}\n", summary.name(),
                             ToString(summary.state_since()), Cell(summary.lost_reason()));
  }
  output.tables.push_back(std::move(table));
  output.message = std::make_unique<v1::ListNodesResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command nodes = {
    .path = "nodes",
    .summary = "List all nodes, including lost nodes.",
    .description =
        "AGE is the time since the node connected or was lost. FINDINGS counts failing findings "
        "about the node, GAPS counts values that the agent could "
        "not read. The active ports of a lost node are unknown. The reason for each lost node is "
        "below the table.",
    .example =
        "fabricctl nodes -o wide\n"
        "fabricctl nodes --filter 'state=lost' -o name\n"
        "fabricctl nodes -l pool=h100 --filter 'findings_open>0'",
    .options = kNodesOptions,
    .run = RunNodes,
    .watch = true,
};

}  // namespace fabric::ctl
