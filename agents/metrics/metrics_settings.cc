#include <algorithm>
#include <cctype>

#include "agents/metrics/metric_families.h"
#include "base/text.h"
#include "proto/names.h"

namespace fabric::agent {
namespace {

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
  if (device.has_function())
    out.Gauge("fabric_device_counters_allowed",
              "1 when the counters of the device may be read, 0 when its kind or role forbids it.",
              {{"device", device.name()}}, function.counters_allowed() ? 1 : 0);
}

void AddPortSettings(const v1::RdmaDevice& device, const v1::Port& port, MetricFamilies& out) {
  const Labels labels = {{"device", device.name()}, {"port", Format("{}", port.number())}};
  Labels info = labels;
  info.push_back({"netdev", port.netdev()});
  info.push_back({"link_layer", std::string(Name(port.link_layer()))});
  info.push_back({"protocol", std::string(Name(device.protocol()))});
  info.push_back({"driver", device.driver()});
  info.push_back({"firmware", device.firmware()});
  info.push_back({"pci_address", device.pci_address()});
  out.Gauge("fabric_port_info", "An RDMA port.", info, 1);
  if (port.has_gid_table_length())
    out.Gauge("fabric_port_gids", "GIDs in use.", labels, port.gids_size());
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
  if (netdev.has_oper_state())
    out.Gauge("fabric_netdev_up", "1 when the netdev is operational.", {{"netdev", netdev.name()}},
              netdev.oper_state() == v1::OPER_STATE_UP ? 1 : 0);
  if (netdev.has_dcb()) AddDcb(netdev.name(), netdev.dcb(), out);
}

}  // namespace

void AddDevices(const v1::NodeSnapshot& snapshot, MetricFamilies& out) {
  out.Gauge("fabric_node_gpus", "GPUs of the node.", {}, snapshot.gpus_size());
  for (const v1::RdmaDevice& device : snapshot.rdma_devices()) {
    AddDevice(device, out);
    for (const v1::Port& port : device.ports()) AddPortSettings(device, port, out);
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

}  // namespace fabric::agent
