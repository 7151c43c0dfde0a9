#include "agents/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>

#include "agents/metric_families.h"
#include "agents/metric_names.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::agent {
namespace {

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

double Number(std::uint64_t value) {
  return static_cast<double>(value);
}

void AddAgent(const NodeMetrics& node, MetricFamilies& out) {
  const v1::NodeIdentity& identity = node.snapshot.node();
  out.Gauge("fabric_agent_info", "The agent and the node it runs on.",
            {{"node", identity.name()},
             {"version", identity.agent_version()},
             {"kernel_release", identity.kernel_release()}},
            1);
  if (node.agent.connected)
    out.Gauge("fabric_agent_connected", "1 while the controller takes what the agent sends.", {},
              *node.agent.connected ? 1 : 0);
  if (node.agent.inspection) {
    out.Gauge("fabric_agent_inspection_duration_seconds", "How long the last inspection took.", {},
              Seconds(*node.agent.inspection));
    out.Counter("fabric_agent_inspections_total", "Inspections since the start of the agent.", {},
                Number(node.agent.inspections));
    out.Counter("fabric_agent_messages_dropped_total",
                "Messages to the controller dropped because too many waited.", {},
                Number(node.agent.messages_dropped));
  }
  std::map<std::string, std::uint64_t> gaps;
  for (const std::string& inspector : node.agent.inspectors) gaps[inspector] = 0;
  for (const v1::Gap& gap : node.snapshot.gaps()) ++gaps[gap.inspector()];
  for (const auto& [inspector, count] : gaps)
    out.Gauge("fabric_agent_gaps", "Things that an inspector wanted to read and could not.",
              {{"inspector", inspector}}, Number(count));
}

void AddPort(const v1::RdmaDevice& device, const v1::Port& port, MetricFamilies& out) {
  const Labels labels = {{"device", device.name()}, {"port", Format("{}", port.number())}};
  Labels info = labels;
  info.push_back({"netdev", port.netdev()});
  info.push_back({"link_layer", std::string(Name(port.link_layer()))});
  info.push_back({"protocol", std::string(Name(device.protocol()))});
  info.push_back({"driver", device.driver()});
  info.push_back({"firmware", device.firmware()});
  info.push_back({"pci_address", device.pci_address()});
  out.Gauge("fabric_port_info", "An RDMA port.", info, 1);
  if (port.has_state())
    out.Gauge("fabric_port_state_id",
              "State of the port: 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER.", labels,
              port.state());
  if (port.has_physical_state())
    out.Gauge("fabric_port_physical_state_id",
              "Physical state of the port: 2 Polling, 3 Disabled, 5 LinkUp, 6 LinkErrorRecovery.",
              labels, port.physical_state());
  if (port.has_rate_bps())
    out.Gauge("fabric_port_rate_bytes_per_second", "Signalling rate of the port.", labels,
              Number(port.rate_bps()) / 8);
  if (port.has_active_mtu_bytes())
    out.Gauge("fabric_port_mtu_bytes", "Active path MTU of the port.", labels,
              port.active_mtu_bytes());
  if (port.has_max_mtu_bytes())
    out.Gauge("fabric_port_max_mtu_bytes", "Largest path MTU of the port.", labels,
              port.max_mtu_bytes());
}

void AddPfc(const std::string& netdev, const v1::Pfc& pfc, MetricFamilies& out) {
  for (int priority = 0; priority < 8; ++priority) {
    const Labels labels = {{"netdev", netdev}, {"priority", Format("{}", priority)}};
    out.Gauge("fabric_netdev_pfc_enabled", "1 when the priority is lossless.", labels,
              pfc.enabled_mask() >> priority & 1);
  }
}

void AddNetdev(const v1::NetInterface& netdev, MetricFamilies& out) {
  const Labels labels = {{"netdev", netdev.name()}};
  if (netdev.has_mtu_bytes())
    out.Gauge("fabric_netdev_mtu_bytes", "MTU of the netdev.", labels, netdev.mtu_bytes());
  if (netdev.has_oper_state())
    out.Gauge("fabric_netdev_up", "1 when the netdev is operational.", labels,
              netdev.oper_state() == v1::OPER_STATE_UP ? 1 : 0);
  if (netdev.has_carrier())
    out.Gauge("fabric_netdev_carrier", "1 when the netdev has a carrier.", labels,
              netdev.carrier() ? 1 : 0);
  if (netdev.has_speed_bps())
    out.Gauge("fabric_netdev_speed_bytes_per_second", "Speed of the link.", labels,
              Number(netdev.speed_bps()) / 8);
  if (netdev.dcb().has_pfc()) AddPfc(netdev.name(), netdev.dcb().pfc(), out);
}

void AddCounter(const v1::CounterSet& set, const v1::Counter& counter, MetricFamilies& out) {
  const bool of_port = !set.device().empty();
  Labels labels;
  if (of_port)
    labels = {{"device", set.device()}, {"port", Format("{}", set.port())}};
  else
    labels = {{"netdev", set.netdev()}};
  const auto found = FindCounterName(counter.source(), counter.name());
  if (found) {
    Labels named = labels;
    if (!found->priority.empty()) named.push_back({"priority", found->priority});
    out.Counter(found->row->metric, found->row->help, named,
                Number(counter.value()) * found->row->scale);
  }
  labels.push_back({"counter", counter.name()});
  // A netdev may have a thousand statistics of its queues; those of a port are few.
  if (!found && of_port)
    out.Untyped("fabric_port_driver_statistic",
                "Statistics of the driver that have no neutral name, as the driver names them.",
                labels, Number(counter.value()));
  if (counter.saturated() && of_port)
    out.Gauge("fabric_port_register_saturated",
              "1 when the register stands at its maximum and counts no further.", labels, 1);
}

void AddPeerMemory(const v1::PeerMemory& peer_memory, MetricFamilies& out) {
  const auto add = [&](const char* module, bool loaded) {
    out.Gauge("fabric_peer_memory_loaded", "1 when the GPUDirect RDMA module is loaded.",
              {{"module", module}}, loaded ? 1 : 0);
  };
  if (peer_memory.has_nvidia_peermem_loaded())
    add("nvidia_peermem", peer_memory.nvidia_peermem_loaded());
  if (peer_memory.has_nv_peer_mem_loaded()) add("nv_peer_mem", peer_memory.nv_peer_mem_loaded());
}

}  // namespace

std::vector<prometheus::MetricFamily> ToMetrics(const NodeMetrics& node) {
  MetricFamilies out;
  AddAgent(node, out);
  out.Gauge("fabric_node_gpus", "GPUs of the node.", {}, node.snapshot.gpus_size());
  for (const v1::RdmaDevice& device : node.snapshot.rdma_devices())
    for (const v1::Port& port : device.ports()) AddPort(device, port, out);
  for (const v1::NetInterface& netdev : node.snapshot.net_interfaces()) AddNetdev(netdev, out);
  for (const v1::CounterSet& set : node.snapshot.counters())
    for (const v1::Counter& counter : set.counters()) AddCounter(set, counter, out);
  if (node.snapshot.has_peer_memory()) AddPeerMemory(node.snapshot.peer_memory(), out);
  return out.Take();
}

std::string ToExposition(const NodeMetrics& node) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, ToMetrics(node));
  return text.str();
}

}  // namespace fabric::agent
