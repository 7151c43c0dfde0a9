#include <algorithm>
#include <iterator>
#include <map>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/render.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/counter_rates.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kTopNodesMax = 64;
// What the rates need: a whole snapshot has up to megabytes.
constexpr const char* kTopFields =
    "counters_at,snapshot.taken_at,snapshot.counters,snapshot.rdma_devices.name,"
    "snapshot.rdma_devices.ports.number,snapshot.rdma_devices.ports.netdev,"
    "snapshot.rdma_devices.ports.state";

constexpr Option kTopOptions[] = {
    NodesOption(
        "NODES",
        "Nodes, such as gpu[001-016], pool=h100, @FILE or -. Default: all nodes, at most 64."),
    kSelectorOption,
    {.name = "limit",
     .type = OptionType::kNumber,
     .fallback = "40",
     .min = "1",
     .doc = "Show the busiest ports, at most this number."},
};

std::string PerSecond(const std::optional<double>& rate) {
  return rate ? Format("{:.0f}", *rate) : std::string(kAbsent);
}
std::string BitsCell(const std::optional<double>& rate) {
  return rate ? BitRate(*rate) : std::string(kAbsent);
}

Result<std::vector<std::string>> TopNodes(Client& client, const Arguments& arguments) {
  std::vector<std::string> names;
  ASSIGN_OR_RETURN(names, NodesOf(client, arguments, "NODES"));
  if (names.empty()) {
    v1::ListNodesRequest request;
    request.set_filter("state=connected");
    request.set_fields("name");
    ASSIGN_OR_RETURN(const auto nodes, client.List<v1::ListNodesResponse>(request));
    for (const v1::NodeSummary& node : nodes.nodes()) names.push_back(node.name());
  }
  if (names.size() <= kTopNodesMax) return names;
  return Status(Code::kInvalidArgument,
                Format("expected at most {} nodes, saw {}: fabricctl top LIST, or Grafana for the "
                       "whole fleet",
                       kTopNodesMax, names.size()));
}

using Snapshots = std::map<std::string, v1::NodeSnapshot>;

Result<Snapshots> Sample(Client& client, const std::vector<std::string>& names) {
  Snapshots snapshots;
  for (const std::string& name : names) {
    v1::GetNodeRequest get;
    get.set_name(name);
    get.set_fields(kTopFields);
    ASSIGN_OR_RETURN(auto node, client.Call<v1::GetNodeResponse>(get));
    snapshots[name].Swap(node.mutable_snapshot());
    snapshots[name].mutable_node()->set_name(name);
    // Settings come only when they change; counters come by themselves.
    if (node.has_counters_at()) *snapshots[name].mutable_taken_at() = node.counters_at();
  }
  return snapshots;
}

double Traffic(const PortRates& row) {
  return row.sent_bps.value_or(0) + row.received_bps.value_or(0);
}

Table TopTable(std::vector<PortRates> rows, std::size_t limit) {
  std::ranges::stable_sort(rows, [](const PortRates& one, const PortRates& other) {
    return Traffic(one) > Traffic(other);
  });
  if (rows.size() > limit) rows.resize(limit);
  Table table{.columns = {{.title = "PORT"},
                          {.title = "NETDEV"},
                          {.title = "STATE", .coloured = true},
                          {.title = "SENT", .right_aligned = true},
                          {.title = "RECEIVED", .right_aligned = true},
                          {.title = "PAUSES OUT/S", .right_aligned = true},
                          {.title = "PAUSES IN/S", .right_aligned = true},
                          {.title = "CONGESTED/S", .right_aligned = true},
                          {.title = "ERRORS/S", .right_aligned = true}},
              .empty_note = "No ports with counters."};
  for (const PortRates& row : rows)
    table.rows.push_back({row.path, Cell(row.netdev), Cell(Name(row.state)), BitsCell(row.sent_bps),
                          BitsCell(row.received_bps), PerSecond(row.pauses_sent),
                          PerSecond(row.pauses_received), PerSecond(row.congestion),
                          PerSecond(row.errors)});
  return table;
}

Result<Output> RunTop(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, TopNodes(client, arguments));
  ASSIGN_OR_RETURN(const Snapshots before, Sample(client, names));
  const Duration interval = arguments.Duration("interval");
  stream.Progress(Format("measuring {} nodes for {}", names.size(), ToString(interval)));
  if (!stream.Wait(interval)) return Status(Code::kCancelled, "interrupted; nothing was changed");
  ASSIGN_OR_RETURN(const Snapshots after, Sample(client, names));
  Output output;
  std::vector<PortRates> rows;
  std::vector<std::string> silent;
  for (const auto& [name, snapshot] : after) {
    std::vector<PortRates> rates = RatesBetween(before.at(name), snapshot);
    if (rates.empty() && snapshot.rdma_devices_size() > 0) silent.push_back(name);
    std::ranges::move(rates, std::back_inserter(rows));
  }
  if (!silent.empty())
    output.after = Format("No report within {} from {}; use a longer --interval.\n",
                          ToString(interval), ListSome(silent, 5));
  output.tables.push_back(TopTable(std::move(rows), arguments.Number("limit")));
  output.message = RowsMessage(output.tables[0], "ports");
  for (const auto& row : output.tables[0].rows) output.names.push_back(row[0]);
  return output;
}

}  // namespace

extern const Command top = {
    .path = "top",
    .summary = "Show the rates of RDMA ports: traffic, pauses, congestion and errors.",
    .description =
        "Reads the counters twice, --interval apart. PAUSES counts PFC or global pause frames per "
        "second, CONGESTED counts congestion notifications and ECN marks that the port received, "
        "ERRORS counts link errors, discards, retransmissions and timeouts. - means that the port "
        "does not have this counter.",
    .example =
        "fabricctl top gpu[001-016] --sort-by -errors/s\n"
        "fabricctl top --watch --limit 20",
    .options = kTopOptions,
    .run = RunTop,
    .watch = true,
};

}  // namespace fabric::ctl
