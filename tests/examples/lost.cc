#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"

namespace fabric::ctl {
namespace {

Result<Output> RunLost(Client& client, const Arguments&, Stream&) {
  ASSIGN_OR_RETURN(const auto response, client.List<v1::ListNodesResponse>(v1::ListNodesRequest()));
  Output output;
  Table table{.columns = {{.title = "NAME"}, {.title = "WHY"}}, .empty_note = "No node is lost."};
  auto message = std::make_unique<v1::ListNodesResponse>();
  for (const v1::NodeSummary& node : response.nodes()) {
    if (node.state() != v1::NODE_STATE_LOST) continue;
    table.rows.push_back({Cell(node.name()), Cell(node.lost_reason())});
    output.names.push_back(node.name());
    *message->add_nodes() = node;
  }
  output.exit_status = table.rows.empty() ? kExitOk : kExitFindings;
  output.tables.push_back(std::move(table));
  output.message = std::move(message);
  return output;
}

}  // namespace

extern const Command lost = {
    .path = "lost",
    .summary = "List the nodes that are lost, and why.",
    .description = "Exits with 1 when there are any.",
    .example = "fabricctl lost",
    .options = {},
    .run = RunLost,
};

}  // namespace fabric::ctl
