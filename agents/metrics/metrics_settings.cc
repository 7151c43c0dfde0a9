#include <algorithm>
#include <cctype>

#include "agents/metrics/metric_families.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::agent {
namespace {

double Number(std::uint64_t value) {
  return static_cast<double>(value);
}

// "virtual" for FUNCTION_KIND_VIRTUAL.
std::string Word(std::string_view enumerator, std::string_view prefix) {
  std::string word(enumerator.substr(std::min(prefix.size(), enumerator.size())));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

void AddDevice(const v1::RdmaDevice& device, MetricFamilies& out) {
  const v1::FunctionClass& function = device.function();
  out.Gauge("fabric_device_info", "An RDMA device.",
            {{"device", device.name()},
             {"driver", device.driver()},
             {"driver_version", device.driver_version()},
             {"firmware", device.firmware()},
             {"model", device.model()},
             {"board_id", device.board_id()},
             {"part_number", device.part_number()},
             {"pci_address", device.pci_address()},
             {"node_guid", device.node_guid()},
             {"kind", Word(v1::FunctionKind_Name(function.kind()), "FUNCTION_KIND_")},
             {"role", Word(v1::FunctionRole_Name(function.role()), "FUNCTION_ROLE_")}},
            1);
  const Labels labels = {{"device", device.name()}};
  if (device.has_function())
    out.Gauge("fabric_device_counters_allowed",
              "1 when the counters of the device may be read, 0 when its kind or role forbids it.",
              labels, function.counters_allowed() ? 1 : 0);
  if (device.has_numa_node())
    out.Gauge("fabric_device_numa_node", "NUMA node of the device.", labels, device.numa_node());
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
  if (port.has_rate_max_bps())
    out.Gauge("fabric_port_max_rate_bytes_per_second", "Maximum signalling rate of the port.",
              labels, Number(port.rate_max_bps()) / 8);
  if (port.has_width()) out.Gauge("fabric_port_lanes", "Lanes of the link.", labels, port.width());
  if (port.has_active_mtu_bytes())
    out.Gauge("fabric_port_mtu_bytes", "Active path MTU of the port.", labels,
              port.active_mtu_bytes());
  if (port.has_max_mtu_bytes())
    out.Gauge("fabric_port_max_mtu_bytes", "Largest path MTU of the port.", labels,
              port.max_mtu_bytes());
  if (port.has_gid_table_length())
    out.Gauge("fabric_port_gids", "GIDs in use.", labels, port.gids_size());
  if (port.has_lag() && port.lag().has_formed())
    out.Gauge("fabric_port_roce_lag_formed",
              "1 when the RDMA ports of the bond form one device, otherwise 0.", labels,
              port.lag().formed() ? 1 : 0);
}

void AddEcn(const std::string& netdev, const v1::CongestionControl& control, MetricFamilies& out) {
  const auto add = [&](const char* point, const auto& enabled) {
    for (int priority = 0; priority < enabled.size(); ++priority)
      out.Gauge("fabric_netdev_ecn_enabled",
                "1 when ECN is enabled for the priority at this congestion control point.",
                {{"netdev", netdev}, {"priority", Format("{}", priority)}, {"point", point}},
                enabled[priority] ? 1 : 0);
  };
  add("notification", control.notification_point_enabled());
  add("reaction", control.reaction_point_enabled());
}

void AddDcb(const std::string& netdev, const v1::DcbConfig& dcb, MetricFamilies& out) {
  if (dcb.has_pfc())
    for (int priority = 0; priority < 8; ++priority)
      out.Gauge("fabric_netdev_pfc_enabled", "1 when the priority is lossless.",
                {{"netdev", netdev}, {"priority", Format("{}", priority)}},
                dcb.pfc().enabled_mask() >> priority & 1);
  for (int tc = 0; tc < dcb.ets().tc_tx_bandwidth_percent_size(); ++tc)
    out.Gauge("fabric_netdev_ets_bandwidth_ratio", "Share of the link of a traffic class.",
              {{"netdev", netdev}, {"traffic_class", Format("{}", tc)}},
              dcb.ets().tc_tx_bandwidth_percent(tc) / 100.0);
  if (dcb.has_trust())
    out.Gauge("fabric_netdev_trust_info", "Trust mode (dscp or pcp).",
              {{"netdev", netdev}, {"trust", std::string(Name(dcb.trust()))}}, 1);
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
  if (netdev.has_carrier_down_count())
    out.Counter("fabric_netdev_carrier_losses_total", "Times the netdev lost its carrier.", labels,
                Number(netdev.carrier_down_count()));
  if (netdev.has_speed_bps())
    out.Gauge("fabric_netdev_speed_bytes_per_second", "Speed of the link.", labels,
              Number(netdev.speed_bps()) / 8);
  if (netdev.has_speed_max_bps())
    out.Gauge("fabric_netdev_max_speed_bytes_per_second", "Maximum speed of the link.", labels,
              Number(netdev.speed_max_bps()) / 8);
  if (netdev.has_global_pause()) {
    const auto add = [&](const char* direction, bool on) {
      out.Gauge("fabric_netdev_global_pause_enabled",
                "1 when global pause is enabled in this direction.",
                {{"netdev", netdev.name()}, {"direction", direction}}, on ? 1 : 0);
    };
    add("rx", netdev.global_pause().rx());
    add("tx", netdev.global_pause().tx());
  }
  if (netdev.has_dcb()) AddDcb(netdev.name(), netdev.dcb(), out);
  if (netdev.has_congestion_control()) AddEcn(netdev.name(), netdev.congestion_control(), out);
}

void AddPeerMemory(const v1::PeerMemory& peer_memory, MetricFamilies& out) {
  const auto add = [&](const char* module, bool loaded) {
    out.Gauge("fabric_peer_memory_loaded", "1 when the GPUDirect RDMA module is loaded.",
              {{"module", module}}, loaded ? 1 : 0);
  };
  if (peer_memory.has_nvidia_peermem_loaded())
    add("nvidia_peermem", peer_memory.nvidia_peermem_loaded());
  if (peer_memory.has_nv_peer_mem_loaded()) add("nv_peer_mem", peer_memory.nv_peer_mem_loaded());
  if (peer_memory.has_bound_to_ib_core())
    out.Gauge("fabric_peer_memory_bound", "1 when the module is registered with ib_core.", {},
              peer_memory.bound_to_ib_core() ? 1 : 0);
  if (peer_memory.has_dma_buf() && peer_memory.dma_buf().has_possible())
    out.Gauge("fabric_dma_buf_possible", "1 when GPU memory can be registered through dma-buf.", {},
              peer_memory.dma_buf().possible() ? 1 : 0);
}

void AddPci(const v1::PciFunction& function, MetricFamilies& out) {
  const Labels labels = {{"pci_address", function.address()}};
  const auto add = [&](const char* what, const v1::PciLink& link) {
    Labels of_link = labels;
    of_link.push_back({"what", what});
    if (link.has_width())
      out.Gauge("fabric_pci_link_lanes",
                "Lanes of a PCIe link: as trained, of the device, of the slot.", of_link,
                link.width());
    if (link.has_speed_megatransfers_per_second())
      out.Gauge("fabric_pci_link_transfers_per_second",
                "Transfers on each lane of a PCIe link: as trained, of the device, of the slot.",
                of_link, Number(link.speed_megatransfers_per_second()) * 1e6);
  };
  if (function.has_link()) add("trained", function.link());
  if (function.has_link_max()) add("device", function.link_max());
  if (function.has_slot_max()) add("slot", function.slot_max());
  const auto errors = [&](const char* severity, std::uint64_t count) {
    out.Counter("fabric_pci_errors_total", "PCIe errors by Advanced Error Reporting.",
                {{"pci_address", function.address()}, {"severity", severity}}, Number(count));
  };
  if (function.has_aer_correctable()) errors("correctable", function.aer_correctable());
  if (function.has_aer_nonfatal()) errors("nonfatal", function.aer_nonfatal());
  if (function.has_aer_fatal()) errors("fatal", function.aer_fatal());
}

}  // namespace

void AddDevices(const v1::NodeSnapshot& snapshot, MetricFamilies& out) {
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    AddDevice(device, out);
    for (const v1::Port& port : device.ports()) AddPort(device, port, out);
  }
}

void AddNetdevs(const v1::NodeSnapshot& snapshot, MetricFamilies& out) {
  for (const v1::NetInterface& netdev : snapshot.net_interfaces()) AddNetdev(netdev, out);
  for (const v1::LldpNeighbor& neighbor : snapshot.lldp_neighbors())
    out.Gauge("fabric_netdev_neighbor_info", "Switch port, from LLDP.",
              {{"netdev", neighbor.netdev()},
               {"system_name", neighbor.system_name()},
               {"port_id", neighbor.port_id()}},
              1);
}

void AddNode(const v1::NodeSnapshot& snapshot, MetricFamilies& out) {
  out.Gauge("fabric_node_gpus", "GPUs of the node.", {}, snapshot.gpus_size());
  for (const v1::PciFunction& function : snapshot.pci_functions()) AddPci(function, out);
  if (snapshot.has_peer_memory()) AddPeerMemory(snapshot.peer_memory(), out);
  if (snapshot.time_sync().has_offset_seconds())
    out.Gauge("fabric_node_time_offset_seconds", "Offset of the clock from its reference.", {},
              snapshot.time_sync().offset_seconds());
  if (snapshot.time_sync().has_synchronized())
    out.Gauge("fabric_node_time_synchronized", "1 when the clock is synchronized.", {},
              snapshot.time_sync().synchronized() ? 1 : 0);
}

}  // namespace fabric::agent
