#include <set>
#include <utility>
#include <vector>

#include "base/priority_mask.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/coverage_lines.h"
#include "proto/labels.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Duration kConnectedPollInterval = std::chrono::seconds(1);

constexpr Option kNodeOptions[] = {
    {.name = "NAME", .value = "NAME", .doc = "Name of the node, as in `nodes`.", .required = true},
    {.name = "wait",
     .type = OptionType::kBool,
     .doc = "Wait until the agent of the node is connected and has reported settings."}};

std::string PeerMemoryText(const v1::NodeSnapshot& snapshot) {
  if (!snapshot.has_peer_memory()) return std::string(kAbsent);
  const v1::PeerMemory& peer = snapshot.peer_memory();
  if (peer.nvidia_peermem_loaded())
    return peer.version().empty() ? "nvidia_peermem" : "nvidia_peermem " + peer.version();
  if (peer.nv_peer_mem_loaded()) return "nv_peer_mem";
  return peer.has_nvidia_peermem_loaded() ? "not loaded" : std::string(kAbsent);
}

std::string SummaryLines(const v1::GetNodeResponse& response) {
  const v1::NodeSummary& summary = response.summary();
  const bool lost = summary.state() == v1::NODE_STATE_LOST;
  std::string lines = Format("Name:         {}\n", summary.name());
  lines += Format("State:        {} since {}\n", lost ? "lost" : "connected",
                  ToString(summary.state_since()));
  if (lost) lines += Format("Reason:       {}\n", Cell(summary.lost_reason()));
  if (!summary.labels().empty())
    lines += Format("Labels:       {}\n", LabelsText(summary.labels()));
  lines += Format("Reported:     {}\n", ToString(summary.reported_at()));
  lines += Format("Kernel:       {}\n", Cell(summary.kernel_release()));
  lines += Format("Agent:        {}\n", Cell(summary.agent_version()));
  lines += Format("Peer memory:  {}\n", PeerMemoryText(response.snapshot()));
  return lines + Format("Findings:     {}\n", summary.findings_open());
}

Table PortTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "RDMA ports",
              .columns = {{.title = "DEVICE"},
                          {.title = "PORT", .right_aligned = true},
                          {.title = "NETDEV"},
                          {.title = "STATE", .coloured = true},
                          {.title = "PHYSICAL"},
                          {.title = "LINK"},
                          {.title = "RATE", .right_aligned = true},
                          {.title = "MTU", .right_aligned = true},
                          {.title = "LID", .wide_only = true, .right_aligned = true},
                          {.title = "DRIVER", .wide_only = true},
                          {.title = "FIRMWARE", .wide_only = true},
                          {.title = "PCI", .wide_only = true},
                          {.title = "NODE GUID", .wide_only = true}},
              .empty_note = "No RDMA devices."};
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      table.rows.push_back(
          {device.name(), Format("{}", port.number()), Cell(port.netdev()),
           Cell(Name(port.state())), Cell(Name(port.physical_state())),
           Cell(Name(port.link_layer())), RateCell(port.has_rate_bps(), port.rate_bps()),
           NumberCell(port.has_active_mtu_bytes(), port.active_mtu_bytes()),
           NumberCell(port.has_lid(), port.lid()), Cell(device.driver()), Cell(device.firmware()),
           Cell(device.pci_address()), Cell(device.node_guid())});
  return table;
}

Table GidTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "GIDs",
              .columns = {{.title = "DEVICE"},
                          {.title = "PORT", .right_aligned = true},
                          {.title = "INDEX", .right_aligned = true},
                          {.title = "TYPE"},
                          {.title = "NETDEV"},
                          {.title = "GID"},
                          {.title = "IPV4"}},
              .empty_note = "No GIDs.",
              .wide_only = true};
  for (const v1::RdmaDevice& device : snapshot.rdma_devices())
    for (const v1::Port& port : device.ports())
      for (const v1::Gid& gid : port.gids())
        table.rows.push_back({device.name(), Format("{}", port.number()), Format("{}", gid.index()),
                              Cell(Name(gid.type())), Cell(gid.netdev()), Cell(gid.gid()),
                              Cell(gid.ipv4())});
  return table;
}

std::string Bandwidths(const v1::DcbConfig& dcb) {
  std::vector<std::string> percents;
  for (const std::uint32_t percent : dcb.ets().tc_tx_bandwidth_percent())
    percents.push_back(Format("{}", percent));
  return Cell(Join(percents, ","));
}

std::string Addresses(const v1::NetInterface& netdev) {
  return Cell(Join({netdev.addresses().begin(), netdev.addresses().end()}, ","));
}

// "24-31>3,48>6": DSCP to priority, from the APP table; neighbours of one priority as a range.
std::string DscpText(const v1::DcbConfig& dcb) {
  if (!dcb.app_read()) return std::string(kAbsent);
  struct Range {
    std::uint32_t first, last, priority;
  };
  std::vector<Range> ranges;
  std::set<std::pair<std::uint32_t, std::uint32_t>> entries;
  for (const v1::AppEntry& entry : dcb.app())
    if (entry.selector() == v1::APP_SELECTOR_DSCP)
      entries.emplace(entry.protocol(), entry.priority());
  for (const auto& [dscp, priority] : entries) {
    if (!ranges.empty() && ranges.back().priority == priority && ranges.back().last + 1 == dscp)
      ranges.back().last = dscp;
    else
      ranges.push_back({.first = dscp, .last = dscp, .priority = priority});
  }
  std::vector<std::string> texts;
  for (const Range& range : ranges)
    texts.push_back(range.first == range.last
                        ? Format("{}>{}", range.first, range.priority)
                        : Format("{}-{}>{}", range.first, range.last, range.priority));
  return texts.empty() ? "none" : Join(texts, ",");
}

Table NetdevTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "Network interfaces",
              .columns = {{.title = "NETDEV"},
                          {.title = "STATE"},
                          {.title = "MTU", .right_aligned = true},
                          {.title = "SPEED", .right_aligned = true},
                          {.title = "PFC"},
                          {.title = "TRUST"},
                          {.title = "DSCP>PRIORITY"},
                          {.title = "ETS %"},
                          {.title = "ADDRESSES", .wide_only = true},
                          {.title = "DRIVER", .wide_only = true},
                          {.title = "PCI", .wide_only = true}},
              .empty_note = "No network interfaces."};
  for (const v1::NetInterface& netdev : snapshot.net_interfaces()) {
    const v1::DcbConfig& dcb = netdev.dcb();
    table.rows.push_back(
        {netdev.name(), Cell(Name(netdev.oper_state())),
         NumberCell(netdev.has_mtu_bytes(), netdev.mtu_bytes()),
         RateCell(netdev.has_speed_bps(), netdev.speed_bps()),
         dcb.has_pfc() ? ToText(PriorityMask(dcb.pfc().enabled_mask())) : std::string(kAbsent),
         Cell(Name(dcb.trust())), DscpText(dcb), Bandwidths(dcb), Addresses(netdev),
         Cell(netdev.driver()), Cell(netdev.pci_address())});
  }
  return table;
}

Table GpuTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "GPUs",
              .columns = {{.title = "PCI"},
                          {.title = "ID"},
                          {.title = "DRIVER"},
                          {.title = "NUMA", .right_aligned = true}},
              .empty_note = "No GPUs."};
  for (const v1::Gpu& gpu : snapshot.gpus())
    table.rows.push_back(
        {gpu.pci_address(), Format("{}:{}", Cell(gpu.vendor_id()), Cell(gpu.device_id())),
         Cell(gpu.driver()), gpu.has_numa_node() ? Format("{}", gpu.numa_node()) : Cell("")});
  return table;
}

// "ml/train-0", or the UID when the agent may not ask for the name.
std::string PodCell(const v1::RdmaProcess& process) {
  if (!process.has_pod_name()) return Cell(process.pod_uid());
  return Format("{}/{}", process.pod_namespace(), process.pod_name());
}

std::string JoinedWords(const google::protobuf::RepeatedPtrField<std::string>& words) {
  return Cell(Join({words.begin(), words.end()}, " "));
}

Table ProcessTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "RDMA processes",
              .columns = {{.title = "PROCESS"},
                          {.title = "PID", .right_aligned = true},
                          {.title = "COUNT", .right_aligned = true},
                          {.title = "POD"},
                          {.title = "DEVICES"}},
              .empty_note = "No RDMA processes."};
  for (const v1::RdmaProcess& process : snapshot.rdma_processes())
    table.rows.push_back({Cell(process.name()), Format("{}", process.pid()),
                          Format("{}", process.processes()), PodCell(process),
                          JoinedWords(process.rdma_devices())});
  return table;
}

Table PodTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "Pods with devices or RDMA processes",
              .columns = {{.title = "POD"}, {.title = "RESOURCE"}, {.title = "DEVICES"}},
              .empty_note = "No pods."};
  for (const v1::KubernetesPod& pod : snapshot.pods()) {
    const std::string name = Format("{}/{}", pod.namespace_(), pod.name());
    for (const v1::PodDevices& devices : pod.devices())
      table.rows.push_back({name, Cell(devices.resource()), JoinedWords(devices.ids())});
    if (pod.devices().empty()) table.rows.push_back({name, Cell(""), Cell("")});
  }
  return table;
}

Table GapTable(const v1::NodeSnapshot& snapshot) {
  Table table{.title = "Gaps: values that could not be read",
              .columns = {{.title = "INSPECTOR"},
                          {.title = "SUBJECT"},
                          {.title = "CODE"},
                          {.title = "PATH"},
                          {.title = "REASON", .elastic = true}},
              .empty_note = "No gaps."};
  for (const v1::Gap& gap : snapshot.gaps())
    table.rows.push_back({Cell(gap.inspector()), Cell(gap.subject()), Cell(Name(gap.code())),
                          Cell(gap.path()), Cell(gap.reason())});
  return table;
}

// What is missing; empty: the node has reported since it connected.
std::string MissingOf(const v1::NodeSummary& node) {
  if (node.state() != v1::NODE_STATE_CONNECTED)
    return node.lost_reason().empty() ? "not connected" : "lost: " + node.lost_reason();
  return Nanoseconds(node.reported_at()) < Nanoseconds(node.state_since())
             ? "connected, no settings reported yet"
             : "";
}

Status WaitUntilConnected(Client& client, v1::GetNodeRequest request, Stream& stream) {
  request.set_fields("summary");
  while (true) {
    ASSIGN_OR_RETURN(const auto node, client.Call<v1::GetNodeResponse>(request));
    const std::string missing = MissingOf(node.summary());
    if (missing.empty()) return {};
    stream.Progress(Format("node {}: {}", request.name(), missing));
    if (!stream.Wait(kConnectedPollInterval))
      return {Code::kCancelled, Format("interrupted; node {}: {}", request.name(), missing)};
  }
}

Result<Output> RunNode(Client& client, const Arguments& arguments, Stream& stream) {
  v1::GetNodeRequest request;
  request.set_name(arguments.Text("NAME"));
  if (arguments.Bool("wait")) RETURN_IF_ERROR(WaitUntilConnected(client, request, stream));
  ASSIGN_OR_RETURN(v1::GetNodeResponse response, client.Call<v1::GetNodeResponse>(request));
  const v1::NodeSnapshot& snapshot = response.snapshot();
  Output output;
  output.before = SummaryLines(response);
  output.tables.push_back(PortTable(snapshot));
  output.tables.push_back(GidTable(snapshot));
  output.tables.push_back(NetdevTable(snapshot));
  output.tables.push_back(GpuTable(snapshot));
  if (!snapshot.rdma_processes().empty()) output.tables.push_back(ProcessTable(snapshot));
  if (!snapshot.pods().empty()) output.tables.push_back(PodTable(snapshot));
  output.tables.push_back(GapTable(snapshot));
  output.after = CoverageLines(response.coverage());
  output.names.push_back(response.summary().name());
  output.message = std::make_unique<v1::GetNodeResponse>(std::move(response));
  return output;
}

}  // namespace

extern const Command node = {
    .path = "node",
    .summary = "Show the ports, settings, processes and gaps of a node.",
    .description =
        "-o wide adds the GID tables, addresses, drivers and firmware; -o json and yaml "
        "print the complete snapshot with counters. Gaps are values that the agent could not read. "
        "The last lines show how many rules have judged the node, what they could not read, and "
        "how many expectations no profile sets.",
    .example =
        "fabricctl node n1 -o wide\n"
        "fabricctl node n1 -o yaml\n"
        "fabricctl node n1 --wait -o name",
    .options = kNodeOptions,
    .run = RunNode,
    .watch = true,
};

}  // namespace fabric::ctl
