#include <algorithm>

#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/counter_rates.h"
#include "ctl/tables/finding_table.h"
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

Table CounterTable(const PortCounters& one, bool zeros) {
  Table table{.title = zeros ? "Counters" : "Counters that are not 0",
              .columns = {{.title = "COUNTER"},
                          {.title = "VALUE", .right_aligned = true},
                          {.title = "UNIT"},
                          {.title = "DRIVER NAME", .wide_only = true}},
              .empty_note = zeros ? "No counters." : "No counters above 0."};
  for (const v1::CounterSet* set : one.sets)
    for (const v1::Counter& counter : set->counters())
      if (zeros || counter.value() > 0)
        table.rows.push_back({counter.has_neutral() ? counter.neutral() : counter.name(),
                              Format("{}{}", counter.value(), counter.saturated() ? " (max)" : ""),
                              Cell(counter.unit()), counter.name()});
  return table;
}

bool ConcernsPort(const v1::Subject& subject, const PortPath& path, const PortCounters& one) {
  return subject.node() == path.node && subject.device() == one.device->name() &&
         (subject.port() == 0 || subject.port() == one.port->number());
}

Result<Output> RunPort(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const PortPath path, ParsePortPath(arguments.Text("PORT")));
  v1::GetNodeRequest get;
  get.set_name(path.node);
  ASSIGN_OR_RETURN(const auto node, client.Call<v1::GetNodeResponse>(get));
  ASSIGN_OR_RETURN(const PortCounters one, FindPort(path, node.snapshot()));
  v1::ListFindingsRequest list;
  list.set_node(path.node);
  list.set_include_resolved(true);
  ASSIGN_OR_RETURN(auto response, client.List<v1::ListFindingsResponse>(list));
  auto& findings = *response.mutable_findings();
  findings.erase(std::remove_if(findings.begin(), findings.end(),
                                [&](const v1::Finding& finding) {
                                  return !ConcernsPort(finding.subject(), path, one) &&
                                         std::ranges::none_of(finding.affected(),
                                                              [&](const auto& s) {
                                                                return ConcernsPort(s, path, one);
                                                              });
                                }),
                 findings.end());
  Output output;
  output.before = PortLines(path, one, node.snapshot());
  if (node.summary().state() == v1::NODE_STATE_LOST)
    output.before += Format("Node:      lost, so these values are old: {}\n",
                            Cell(node.summary().lost_reason()));
  output.tables.push_back(
      FindingTable(findings, {.state = true, .explained = true, .now = stream.Now()}));
  output.tables.back().title = "Findings, open and resolved";
  output.tables.push_back(CounterTable(one, arguments.Bool("zeros")));
  output.names.push_back(Format("{}/{}/{}", path.node, one.device->name(), one.port->number()));
  if (AnyFailing(findings)) output.exit_status = kExitFindings;
  output.message = std::make_unique<v1::Port>(*one.port);
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
    .summary = "Show a port: link, switch, findings with history, and counters.",
    .description =
        "Counters have their vendor-neutral names if they have one; -o wide adds the names of the "
        "driver. Exits with 1 if a finding about the port is open.",
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
