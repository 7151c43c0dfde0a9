#include <chrono>

#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kNodeMaintenanceOptions[] = {
    {.name = "NAME", .value = "NAME", .doc = "Name of a node, as in `nodes`.", .required = true},
    {.name = "for",
     .type = OptionType::kDuration,
     .min = "1s",
     .max = "30d",
     .doc = "Duration of the maintenance: 30m, 2h, 7d. Required without --end."},
    {.name = "reason",
     .value = "TEXT",
     .doc = "Reason or ticket, shown with the node. Required without --end."},
    {.name = "end", .type = OptionType::kBool, .doc = "End the maintenance of the node now."},
    {.name = "author",
     .value = "NAME",
     .doc = "Author. Default: $USER. With a token or a certificate, the author is its name."},
};

Result<Output> EndMaintenance(Client& client, const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto response,
                   client.List<v1::ListSilencesResponse>(v1::ListSilencesRequest()));
  Output output;
  auto ended = std::make_unique<v1::ListSilencesResponse>();
  for (const v1::Silence& silence : response.silences()) {
    if (!silence.maintenance() || silence.node() != arguments.Text("NAME")) continue;
    v1::DeleteSilenceRequest request;
    request.set_id(silence.id());
    request.set_author(arguments.Text("author"));
    ASSIGN_OR_RETURN(*ended->add_silences(), client.Call<v1::Silence>(request));
  }
  if (ended->silences().empty())
    return Status(Code::kNotFound, Format("node {} is not in maintenance", arguments.Text("NAME")));
  output.before = Format("Maintenance of {} ended.\n", arguments.Text("NAME"));
  output.names.push_back(arguments.Text("NAME"));
  output.message = std::move(ended);
  return output;
}

Result<Output> RunNodeMaintenance(Client& client, const Arguments& arguments, Stream&) {
  if (arguments.Text("author").empty())
    return Status(Code::kInvalidArgument, "--author is required if USER is not set");
  if (arguments.Bool("end")) {
    if (arguments.Has("for") || arguments.Has("reason"))
      return Status(Code::kInvalidArgument, "expected --end alone, saw --for or --reason");
    return EndMaintenance(client, arguments);
  }
  if (!arguments.Has("for") || !arguments.Has("reason"))
    return Status(Code::kInvalidArgument, "expected --for and --reason, or --end");
  v1::CreateSilenceRequest request;
  v1::Silence& wanted = *request.mutable_silence();
  wanted.set_node(arguments.Text("NAME"));
  wanted.set_author(arguments.Text("author"));
  wanted.set_reason(arguments.Text("reason"));
  wanted.set_maintenance(true);
  request.set_duration_seconds(static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(arguments.Duration("for")).count()));
  ASSIGN_OR_RETURN(v1::Silence silence, client.Call<v1::Silence>(request));
  Output output;
  output.before =
      Format("Node {} is in maintenance until {}.\n", silence.node(), ToString(silence.until()));
  output.names.push_back(silence.node());
  output.message = std::make_unique<v1::Silence>(std::move(silence));
  return output;
}

}  // namespace

extern const Command node_maintenance = {
    .path = "node maintenance",
    .summary = "Start or end the maintenance of a node.",
    .description =
        "Findings about a node in maintenance are silenced, and campaigns and certificates skip "
        "its "
        "ports, with the reason. The maintenance ends automatically. `nodes` shows it.",
    .example =
        "fabricctl node maintenance n2 --for 4h --reason OPS-1234\n"
        "fabricctl node maintenance n2 --end",
    .options = kNodeMaintenanceOptions,
    .run = RunNodeMaintenance,
};

}  // namespace fabric::ctl
