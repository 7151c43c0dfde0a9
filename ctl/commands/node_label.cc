#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "proto/labels.h"

namespace fabric::ctl {
namespace {

constexpr Option kNodeLabelOptions[] = {
    {.name = "NAME",
     .value = "NAME",
     .doc = "Name of a node, as in `nodes`. Left out with --nodes."},
    {.name = "LABEL",
     .value = "KEY=VALUE|KEY-",
     .doc = "Label to set, or to remove with '-' at its end. Without one, the labels are listed.",
     .repeated = true},
    NodesOption("nodes", "Several nodes instead of NAME: n1,n2, gpu[001-016] or pool=h100."),
    {.name = "author",
     .value = "NAME",
     .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."},
};

Status WrongLabel(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

// The labels of the command line, without the node.
Result<v1::SetNodeLabelsRequest> ReadChange(const std::vector<std::string>& words) {
  v1::SetNodeLabelsRequest change;
  for (const std::string& word : words) {
    const std::size_t at = word.find('=');
    const bool removes = at == word.npos && word.ends_with('-');
    if (at == word.npos && !removes)
      return WrongLabel(Format("LABEL: expected KEY=VALUE or KEY-, saw {}", Quoted(word)));
    const std::string key = word.substr(0, removes ? word.size() - 1 : at);
    const std::string value = removes ? std::string() : word.substr(at + 1);
    RETURN_IF_ERROR(CheckLabel(key, value).In("LABEL"));
    if (removes)
      change.add_remove(key);
    else if (!change.mutable_set()->insert({key, value}).second)
      return WrongLabel(Format("LABEL: expected {} once, saw it twice", Quoted(key)));
  }
  return change;
}

// The current summary, or the one after the change.
Result<v1::NodeSummary> ChangeOrRead(Client& client, const v1::SetNodeLabelsRequest& change) {
  if (!change.set().empty() || !change.remove().empty())
    return client.Call<v1::NodeSummary>(change);
  v1::GetNodeRequest get;
  get.set_name(change.name());
  get.set_fields("summary.name,summary.labels");
  ASSIGN_OR_RETURN(v1::GetNodeResponse node, client.Call<v1::GetNodeResponse>(get));
  return std::move(*node.mutable_summary());
}

Result<Output> RunNodeLabel(Client& client, const Arguments& arguments, Stream&) {
  std::vector<std::string> words = arguments.All("LABEL");
  if (arguments.Has("nodes") && arguments.Has("NAME"))
    words.insert(words.begin(), arguments.Text("NAME"));
  ASSIGN_OR_RETURN(v1::SetNodeLabelsRequest change, ReadChange(words));
  change.set_author(arguments.Text("author"));
  std::vector<std::string> nodes;
  if (arguments.Has("nodes")) {
    ASSIGN_OR_RETURN(nodes, NodesOf(client, arguments, "nodes"));
  } else {
    if (!arguments.Has("NAME")) return WrongLabel("expected NAME or --nodes");
    nodes.push_back(arguments.Text("NAME"));
  }
  Output output;
  auto message = std::make_unique<v1::ListNodesResponse>();
  Table table{.columns = {{.title = "NODE"}, {.title = "LABELS"}}};
  for (const std::string& node : nodes) {
    change.set_name(node);
    auto summary = ChangeOrRead(client, change);
    if (!summary.ok() && !output.names.empty() && !words.empty())
      return summary.status().In("changed " + ListSome(output.names, 4) + ", then");
    if (!summary.ok()) return summary.status();
    table.rows.push_back({Cell(summary->name()), Cell(LabelsText(summary->labels()))});
    output.names.push_back(summary->name());
    *message->add_nodes() = *std::move(summary);
  }
  output.tables.push_back(std::move(table));
  output.message = std::move(message);
  return output;
}

}  // namespace

extern const Command node_label = {
    .path = "node label",
    .summary = "Set, remove or list the labels of nodes.",
    .description =
        "Prints the labels after the change. Labels outlive a restart of the controller, and end "
        "with the node. Keys and values have at most 63 letters, digits, '-', '_', '.', and keys "
        "also '/'; a node has at most 32. Selectors of labels name nodes in --nodes and --node: "
        "KEY=VALUE, KEY!=VALUE, KEY and !KEY, separated by commas, all of which must hold. In bash "
        "put '!' in single quotes. A role can be limited to nodes with labels; to change labels, "
        "a role for the whole fabric is required.",
    .example =
        "fabricctl node label n2 pool=h100 rack=r12\n"
        "fabricctl node label --nodes gpu[001-016] pool=h100 spare-\n"
        "fabricctl node label n2",
    .options = kNodeLabelOptions,
    .run = RunNodeLabel,
};

}  // namespace fabric::ctl
