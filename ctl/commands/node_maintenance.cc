#include <chrono>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

using Nodes = std::vector<std::string>;

constexpr Option kNodeMaintenanceOptions[] = {
    NodesOption("NODES", "Nodes, as in `nodes`: n2, n1,n2, gpu[001-016] or pool=h100.", true),
    {.name = "for",
     .type = OptionType::kDuration,
     .min = "1s",
     .max = "30d",
     .doc = "Duration of the maintenance: 30m, 2h, 7d. Required without --end."},
    {.name = "reason",
     .value = "TEXT",
     .doc = "Reason or ticket, shown with the nodes. Required without --end."},
    {.name = "end", .type = OptionType::kBool, .doc = "End the maintenance of the nodes now."},
    {.name = "author",
     .value = "NAME",
     .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."},
};

Result<Output> EndMaintenance(Client& client, const Nodes& nodes, const std::string& author) {
  ASSIGN_OR_RETURN(const auto response,
                   client.List<v1::ListSilencesResponse>(v1::ListSilencesRequest()));
  Output output;
  auto ended = std::make_unique<v1::ListSilencesResponse>();
  RETURN_IF_ERROR(ForEachNode(nodes, output, [&](const std::string& node) -> Status {
    bool found = false;
    for (const v1::Silence& silence : response.silences()) {
      if (!silence.maintenance() || silence.node() != node) continue;
      v1::DeleteSilenceRequest request;
      request.set_id(silence.id());
      request.set_author(author);
      ASSIGN_OR_RETURN(v1::Silence deleted, client.Call<v1::Silence>(request));
      *ended->add_silences() = std::move(deleted);
      found = true;
    }
    if (!found) return {Code::kNotFound, Format("node {} is not in maintenance", node)};
    output.before += Format("Maintenance of {} ended.\n", node);
    output.names.push_back(node);
    return {};
  }));
  output.message = std::move(ended);
  return output;
}

// -o json prints one silence as such, those of several nodes as a list.
Result<Output> StartMaintenance(Client& client, const Nodes& nodes,
                                v1::CreateSilenceRequest request) {
  Output output;
  auto started = std::make_unique<v1::ListSilencesResponse>();
  RETURN_IF_ERROR(ForEachNode(nodes, output, [&](const std::string& node) -> Status {
    request.mutable_silence()->set_node(node);
    ASSIGN_OR_RETURN(v1::Silence silence, client.Call<v1::Silence>(request));
    output.before +=
        Format("Node {} is in maintenance until {}.\n", silence.node(), ToString(silence.until()));
    output.names.push_back(silence.node());
    *started->add_silences() = std::move(silence);
    return {};
  }));
  if (nodes.size() == 1)
    output.message = std::make_unique<v1::Silence>(started->silences(0));
  else
    output.message = std::move(started);
  return output;
}

Result<Output> RunNodeMaintenance(Client& client, const Arguments& arguments, Stream&) {
  const std::string author = arguments.Text("author");
  if (author.empty())
    return Status(Code::kInvalidArgument, "--author is required if USER is not set");
  const bool end = arguments.Bool("end");
  if (end && (arguments.Has("for") || arguments.Has("reason")))
    return Status(Code::kInvalidArgument, "expected --end alone, saw --for or --reason");
  if (!end && (!arguments.Has("for") || !arguments.Has("reason")))
    return Status(Code::kInvalidArgument, "expected --for and --reason, or --end");
  ASSIGN_OR_RETURN(const Nodes nodes, NodesOf(client, arguments, "NODES"));
  if (end) return EndMaintenance(client, nodes, author);
  v1::CreateSilenceRequest request;
  v1::Silence& wanted = *request.mutable_silence();
  wanted.set_author(author);
  wanted.set_reason(arguments.Text("reason"));
  wanted.set_maintenance(true);
  request.set_duration_seconds(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(arguments.Duration("for")).count()));
  return StartMaintenance(client, nodes, std::move(request));
}

}  // namespace

extern const Command node_maintenance = {
    .path = "node maintenance",
    .summary = "Start or end the maintenance of nodes.",
    .description =
        "Findings about a node in maintenance are silenced, and campaigns and certificates skip "
        "its ports, with the reason. The maintenance ends automatically. `nodes` shows it. A "
        "selector of labels names the nodes that it matches now. A node that fails is an error; "
        "the other nodes follow.",
    .example =
        "fabricctl node maintenance n2 --for 4h --reason OPS-1234\n"
        "fabricctl node maintenance pool=h100,rack=r12 --for 4h --reason OPS-1234\n"
        "fabricctl node maintenance n[1-8] --end",
    .options = kNodeMaintenanceOptions,
    .run = RunNodeMaintenance,
};

}  // namespace fabric::ctl
