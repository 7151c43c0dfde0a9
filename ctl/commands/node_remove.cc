#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::ctl {
namespace {

constexpr Option kNodeRemoveOptions[] = {
    {.name = "NAME",
     .value = "NAME",
     .doc = "Name of a lost node, as in `nodes`.",
     .required = true},
    {.name = "author",
     .value = "NAME",
     .doc = "Author, for the event. Default: $USER. With a token or a certificate, the author is "
            "its name."},
};

Result<Output> RunNodeRemove(Client& client, const Arguments& arguments, Stream&) {
  v1::DeleteNodeRequest request;
  request.set_name(arguments.Text("NAME"));
  request.set_author(arguments.Text("author"));
  ASSIGN_OR_RETURN(v1::NodeSummary removed, client.Call<v1::NodeSummary>(request));
  Output output;
  output.before = Format("Node {} is removed.\n", removed.name());
  output.names.push_back(removed.name());
  output.message = std::make_unique<v1::NodeSummary>(std::move(removed));
  return output;
}

}  // namespace

extern const Command node_remove = {
    .path = "node remove",
    .summary = "Remove a lost node that has left the cluster.",
    .description =
        "Resolves the findings that are only about this node. A connected node cannot be removed: "
        "stop its agent first. If the agent connects again, the node is back.",
    .example =
        "fabricctl node remove n7\n"
        "fabricctl node remove n7 --author ada",
    .options = kNodeRemoveOptions,
    .run = RunNodeRemove,
};

}  // namespace fabric::ctl
