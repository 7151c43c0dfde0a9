#include <google/protobuf/struct.pb.h>

#include <algorithm>

#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/counter_rates.h"
#include "ctl/tables/finding_table.h"
#include "proto/json.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kPortOptions[] = {
    {.name = "PORT",
     .value = "NODE/DEVICE[/PORT]",
     .doc = "Port, as `devices -o name` prints it; also NODE/NETDEV.",
     .required = true},
    {.name = "zeros", .type = OptionType::kBool, .doc = "Include counters that are 0."},
};

constexpr Option kIbdevOptions[] = {
    {.name = "NODE", .value = "NODE", .doc = "Name of the node.", .required = true}};

struct PortPath {
  std::string node, device, port;  // `port` is empty if not given
};

Result<PortPath> ParsePortPath(const std::string& text) {
  const auto parts = Split(text, '/');
  const bool right = (parts.size() == 2 || parts.size() == 3) &&
                     std::ranges::none_of(parts, &std::string_view::empty);
  if (!right)
    return Status(
        Code::kInvalidArgument,
        Format("PORT: expected NODE/DEVICE or NODE/DEVICE/PORT such as n1/mlx5_0/1, saw {}",
               Quoted(text)));
  return PortPath{std::string(parts[0]), std::string(parts[1]),
                  parts.size() == 3 ? std::string(parts[2]) : std::string()};
}

Result<PortCounters> FindPort(const PortPath& path, const v1::NodeSnapshot& snapshot) {
  std::vector<std::string> known;
  for (const PortCounters& one : PortsWithCounters(snapshot)) {
    const bool named = one.device->name() == path.device || one.port->netdev() == path.device;
    if (named && (path.port.empty() || path.port == Format("{}", one.port->number()))) return one;
    known.push_back(Format("{}/{}", one.device->name(), one.port->number()));
  }
  const std::string wanted =
      path.port.empty() ? path.device : Format("{}/{}", path.device, path.port);
  return Status(Code::kNotFound,
                Format("node {}: {}", path.node,
                       UnknownName("port", wanted, {known.begin(), known.end()},
                                   Format("; it has {}",
                                          known.empty() ? "no RDMA port" : ListSome(known, 8)))));
}

std::string PortLines(const PortPath& path, const PortCounters& one,
                      const v1::NodeSnapshot& snapshot) {
  const v1::Port& port = *one.port;
  std::string lines = Format("Port:      {}/{}/{}\n", path.node, one.device->name(), port.number());
  lines +=
      Format("State:     {}, {}\n", Cell(Name(port.state())), Cell(Name(port.physical_state())));
  lines += Format("Link:      {}, {}, MTU {}\n", Cell(Name(port.link_layer())),
                  RateCell(port.has_rate_bps(), port.rate_bps()),
                  NumberCell(port.has_active_mtu_bytes(), port.active_mtu_bytes()));
  lines += Format("Device:    {}, firmware {}, PCI {}\n", Cell(one.device->driver()),
                  Cell(one.device->firmware()), Cell(one.device->pci_address()));
  lines += Format("Netdev:    {}\n", Cell(port.netdev()));
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors())
    if (!port.netdev().empty() && neighbor.netdev() == port.netdev())
      lines += Format("Switch:    {} {}\n", Cell(neighbor.system_name()), Cell(neighbor.port_id()));
  return lines + Format("Read at:   {}\n", ToString(snapshot.taken_at()));
}

// Of one port, and why they are missing or incomplete; no reason: they are complete.
struct RateHistory {
  v1::CounterHistory history;
  std::string reason;

  const v1::CounterSeries* Of(const v1::Counter& counter) const {
    for (const v1::PortCounterHistory& port : history.ports())
      for (const v1::CounterSeries& series : port.series())
        if (counter.has_neutral() && series.name() == counter.neutral()) return &series;
    return nullptr;
  }
  // In the newest window; absent if it is unknown there.
  std::optional<double> Newest(const v1::CounterSeries& series) const {
    const int windows = series.windows_size();
    const bool is_newest =
        windows > 0 && series.per_second_size() == windows &&
        series.windows(windows - 1) + 1 == static_cast<std::uint32_t>(history.ended_at_size());
    if (!is_newest) return {};
    return series.per_second(windows - 1);
  }
};

// A controller without history and a folder of snapshots are no failures.
Result<RateHistory> ReadRates(Client& client, const std::string& node, const PortCounters& one) {
  v1::GetCounterHistoryRequest request;
  request.set_name(node);
  request.set_device(one.device->name());
  request.set_port(one.port->number());
  auto history = client.Call<v1::CounterHistory>(request);
  if (history.ok()) {
    std::string reason = history->reason();
    if (history->ports().empty() && reason.empty()) reason = "no 30 s window is complete yet";
    return RateHistory{*std::move(history), std::move(reason)};
  }
  const Code code = history.status().code();
  if (code != Code::kNotFound && code != Code::kUnimplemented) return history.status();
  return RateHistory{{},
                     code == Code::kNotFound ? "no 30 s window is complete yet" : "no controller"};
}

std::string PerSecondCell(std::optional<double> rate) {
  if (!rate) return "-";
  return *rate < 10 && *rate > 0 ? Format("{:.1f}", *rate) : Format("{:.0f}", *rate);
}

std::optional<double> Largest(const v1::CounterSeries& series) {
  if (series.per_second().empty()) return {};
  return *std::ranges::max_element(series.per_second());
}

Table CounterTable(const PortCounters& one, const RateHistory& rates, bool zeros) {
  Table table{.title = zeros ? "Counters" : "Counters that are not 0",
              .columns = {{.title = "COUNTER"},
                          {.title = "VALUE", .right_aligned = true},
                          {.title = "UNIT"},
                          {.title = "PER SECOND", .right_aligned = true},
                          {.title = "MAX 1H", .right_aligned = true},
                          {.title = "DRIVER NAME", .wide_only = true}},
              .empty_note = zeros ? "No counters." : "No counters above 0."};
  for (const v1::CounterSet* set : one.sets)
    for (const v1::Counter& counter : set->counters()) {
      if (!zeros && counter.value() == 0) continue;
      const v1::CounterSeries* const series = rates.Of(counter);
      table.rows.push_back({counter.has_neutral() ? counter.neutral() : counter.name(),
                            Format("{}{}", counter.value(), counter.saturated() ? " (max)" : ""),
                            Cell(counter.unit()),
                            PerSecondCell(series == nullptr ? std::nullopt : rates.Newest(*series)),
                            PerSecondCell(series == nullptr ? std::nullopt : Largest(*series)),
                            counter.name()});
    }
  return table;
}

google::protobuf::Struct StructOf(const google::protobuf::Message& message) {
  google::protobuf::Struct object;
  // Every message of the schema is an object in JSON.
  (void)FromJson(ToJson(message, false), object);
  return object;
}

// What the table shows, and all counters with their rates of the last hour: the fields of v1.Port,
// and node, device, findings, counters, history.
std::unique_ptr<google::protobuf::Message> PortMessage(
    const v1::GetNodeResponse& node, const PortCounters& one, const RateHistory& rates,
    const google::protobuf::RepeatedPtrField<v1::Finding>& findings) {
  auto message = std::make_unique<google::protobuf::Struct>(StructOf(*one.port));
  auto& members = *message->mutable_fields();
  *members["node"].mutable_struct_value() = StructOf(node.summary());
  v1::RdmaDevice device = *one.device;
  device.clear_ports();
  *members["device"].mutable_struct_value() = StructOf(device);
  auto& list = *members["findings"].mutable_list_value();
  for (const v1::Finding& finding : findings)
    *list.add_values()->mutable_struct_value() = StructOf(finding);
  auto& counters = *members["counters"].mutable_list_value();
  for (const v1::CounterSet* set : one.sets)
    for (const v1::Counter& counter : set->counters()) {
      auto& object = *counters.add_values()->mutable_struct_value() = StructOf(counter);
      const v1::CounterSeries* const series = rates.Of(counter);
      const auto newest = series == nullptr ? std::nullopt : rates.Newest(*series);
      if (newest) (*object.mutable_fields())["per_second"].set_number_value(*newest);
    }
  v1::CounterHistory history = rates.history;
  history.set_reason(rates.reason);
  *members["history"].mutable_struct_value() = StructOf(history);
  return message;
}

bool ConcernsPort(const v1::Subject& subject, const PortPath& path, const PortCounters& one) {
  return subject.node() == path.node && subject.device() == one.device->name() &&
         (subject.port() == 0 || subject.port() == one.port->number());
}

Result<google::protobuf::RepeatedPtrField<v1::Finding>> FindingsOf(Client& client,
                                                                   const PortPath& path,
                                                                   const PortCounters& one) {
  v1::ListFindingsRequest list;
  list.set_node(path.node);
  list.set_include_resolved(true);
  ASSIGN_OR_RETURN(auto response, client.List<v1::ListFindingsResponse>(list));
  const auto concerns = [&](const v1::Subject& s) { return ConcernsPort(s, path, one); };
  google::protobuf::RepeatedPtrField<v1::Finding> findings;
  for (v1::Finding& finding : *response.mutable_findings())
    if (concerns(finding.subject()) || std::ranges::any_of(finding.affected(), concerns))
      *findings.Add() = std::move(finding);
  return findings;
}

Result<Output> RunPort(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const PortPath path, ParsePortPath(arguments.Text("PORT")));
  v1::GetNodeRequest get;
  get.set_name(path.node);
  ASSIGN_OR_RETURN(const auto node, client.Call<v1::GetNodeResponse>(get));
  ASSIGN_OR_RETURN(const PortCounters one, FindPort(path, node.snapshot()));
  ASSIGN_OR_RETURN(const RateHistory rates, ReadRates(client, path.node, one));
  ASSIGN_OR_RETURN(const auto findings, FindingsOf(client, path, one));
  Output output;
  output.before = PortLines(path, one, node.snapshot());
  if (node.summary().state() == v1::NODE_STATE_LOST)
    output.before += Format("Node:      lost, so these values are old: {}\n",
                            Cell(node.summary().lost_reason()));
  output.tables.push_back(
      FindingTable(findings, {.state = true, .explained = true, .now = stream.Now()}));
  output.tables.back().title = "Findings, open and resolved";
  output.tables.push_back(CounterTable(one, rates, arguments.Bool("zeros")));
  output.names.push_back(Format("{}/{}/{}", path.node, one.device->name(), one.port->number()));
  if (AnyFailing(findings)) output.exit_status = kExitFindings;
  if (!rates.reason.empty()) output.after = Format("Rates:     {}\n", rates.reason);
  output.message = PortMessage(node, one, rates, findings);
  return output;
}

Result<Output> RunIbdev(Client& client, const Arguments& arguments, Stream&) {
  v1::GetNodeRequest get;
  get.set_name(arguments.Text("NODE"));
  ASSIGN_OR_RETURN(auto node, client.Call<v1::GetNodeResponse>(get));
  Output output;
  for (const v1::RdmaDevice& device : node.snapshot().rdma_devices())
    for (const v1::Port& port : device.ports()) {
      if (port.netdev().empty()) continue;
      std::string_view state = "not known";
      for (const v1::NetInterface& netdev : node.snapshot().net_interfaces())
        if (netdev.name() == port.netdev()) state = Name(netdev.oper_state());
      output.before +=
          Format("{} port {} ==> {} ({})\n", device.name(), port.number(), port.netdev(),
                 state == "up"     ? "Up"
                 : state == "down" ? "Down"
                                   : state);
      output.names.push_back(port.netdev());
    }
  if (output.before.empty()) output.before = "No RDMA port has a network interface.\n";
  output.message = std::make_unique<v1::GetNodeResponse>(std::move(node));
  return output;
}

}  // namespace

extern const Command port = {
    .path = "port",
    .summary = "Show a port: link, switch, findings with history, and counters with rates.",
    .description =
        "Counters have their vendor-neutral names if they have one; -o wide adds the names of the "
        "driver. PER SECOND is the rate in the last window of 30 s, and MAX 1H the largest rate of "
        "a window in the last hour, for the 16 counters whose history the controller keeps. -o "
        "json "
        "has the fields of the port, and: node, device, findings, counters (also those that are "
        "0) and history, with the rates of all windows. Exits with 1 if a finding about the port "
        "is open.",
    .example =
        "fabricctl port n1/mlx5_0/1\n"
        "fabricctl port n1/rail0 --zeros",
    .options = kPortOptions,
    .run = RunPort,
    .watch = true,
};

extern const Command ibdev2netdev = {
    .path = "ibdev2netdev",
    .summary = "Show the network interface of each RDMA port of a node.",
    .description =
        "The format is that of the script ibdev2netdev. Ports without an interface are omitted.",
    .example =
        "fabricctl ibdev2netdev n1\n"
        "fabricctl ibdev2netdev n1 -o json",
    .options = kIbdevOptions,
    .run = RunIbdev,
    .watch = true,
};

}  // namespace fabric::ctl
