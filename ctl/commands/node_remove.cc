#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {
namespace {

constexpr Option kNodeRemoveOptions[] = {
    NodesOption("NODES", "Lost nodes, as in `nodes`: n7, n1,n2, gpu[001-016] or pool=h100.", true),
    {.name = "yes",
     .type = OptionType::kBool,
     .doc = "Remove several nodes. Required with more than one node."},
    {.name = "author",
     .value = "NAME",
     .doc = "Author, for the event. Default: $USER. With a token or a certificate, the author is "
            "its name."},
};

// -o json prints one node as such, several ones as a list.
Result<Output> RunNodeRemove(Client& client, const Arguments& arguments, Stream&) {
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(client, arguments, "NODES"));
  if (nodes.size() > 1 && !arguments.Bool("yes"))
    return Status(Code::kInvalidArgument, Format("expected --yes to remove {} nodes: {}",
                                                 nodes.size(), ListSome(nodes, 8)));
  Output output;
  auto removed = std::make_unique<v1::ListNodesResponse>();
  RETURN_IF_ERROR(ForEachNode(nodes, output, [&](const std::string& node) -> Status {
    v1::DeleteNodeRequest request;
    request.set_name(node);
    request.set_author(arguments.Text("author"));
    ASSIGN_OR_RETURN(v1::NodeSummary summary, client.Call<v1::NodeSummary>(request));
    *removed->add_nodes() = std::move(summary);
    return {};
  }));
  for (const v1::NodeSummary& node : removed->nodes()) {
    output.before += Format("Node {} is removed.\n", node.name());
    output.names.push_back(node.name());
  }
  if (nodes.size() == 1)
    output.message = std::make_unique<v1::NodeSummary>(removed->nodes(0));
  else
    output.message = std::move(removed);
  return output;
}

}  // namespace

extern const Command node_remove = {
    .path = "node remove",
    .summary = "Remove lost nodes that have left the cluster.",
    .description =
        "Resolves the findings that are only about these nodes. A connected node cannot be "
        "removed: stop its agent first. If the agent connects again, the node is back. A node that "
        "cannot be removed is an error; the other nodes are removed.",
    .example =
        "fabricctl node remove n7\n"
        "fabricctl node remove gpu[001-016] --yes --author ada",
    .options = kNodeRemoveOptions,
    .run = RunNodeRemove,
};

}  // namespace fabric::ctl
