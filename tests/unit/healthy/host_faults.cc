#include "tests/unit/healthy/host_faults.h"

#include <algorithm>
#include <string>

#include "base/text.h"

namespace fabric::testing {
namespace {

using Node = v1::NodeSnapshot;

v1::RdmaDevice* Device(Node& node) {
  for (v1::RdmaDevice& device : *node.mutable_rdma_devices())
    for (const v1::Port& port : device.ports())
      if (port.state() == v1::PORT_STATE_ACTIVE) return &device;
  return nullptr;
}

v1::Port* Port(Node& node) {
  v1::RdmaDevice* device = Device(node);
  return device ? device->mutable_ports(0) : nullptr;
}

v1::NetInterface* Named(Node& node, const std::string& name) {
  for (v1::NetInterface& netdev : *node.mutable_net_interfaces())
    if (netdev.name() == name) return &netdev;
  return nullptr;
}

v1::NetInterface* Netdev(Node& node) {
  const v1::Port* port = Port(node);
  return port ? Named(node, port->netdev()) : nullptr;
}

// The netdev that has the settings: the first member of a bond.
v1::NetInterface* Settings(Node& node) {
  v1::NetInterface* netdev = Netdev(node);
  while (netdev && !netdev->has_dcb() && netdev->lowers_size() > 0)
    netdev = Named(node, netdev->lowers(0));
  return netdev && netdev->has_dcb() && netdev->dcb().pfc().enabled_mask() != 0 ? netdev : nullptr;
}

v1::PciFunction* Function(Node& node) {
  const v1::RdmaDevice* device = Device(node);
  if (!device) return nullptr;
  for (v1::PciFunction& function : *node.mutable_pci_functions())
    if (function.address() == device->pci_address()) return &function;
  return nullptr;
}

constexpr std::size_t kCardLength = 10;  // Of "0000:17:00", which all functions of a card share

void Erase(auto& list, const auto& is_gone) {
  for (int i = list.size(); i-- > 0;)
    if (is_gone(list[i])) list.DeleteSubrange(i, 1);
}

// The RDMA device and its netdev are gone; the PCI function is still there.
bool RemoveDevice(Node& node) {
  const v1::RdmaDevice* found = Device(node);
  if (!found) return false;
  const v1::RdmaDevice device = *found;
  Erase(*node.mutable_net_interfaces(),
        [&](const auto& netdev) { return netdev.pci_address() == device.pci_address(); });
  Erase(*node.mutable_gpu_nic_paths(),
        [&](const auto& path) { return path.device() == device.name(); });
  Erase(*node.mutable_rdma_devices(),
        [&](const auto& other) { return other.name() == device.name(); });
  return true;
}

constexpr HostFault kFaults[] = {
    {"link down",
     [](Node& n) {
       v1::Port* port = Port(n);
       v1::NetInterface* netdev = Netdev(n);
       if (!port) return false;
       port->set_state(v1::PORT_STATE_DOWN);
       port->set_physical_state(v1::PHYSICAL_STATE_POLLING);
       if (netdev) {
         netdev->set_carrier(false);
         netdev->set_oper_state(v1::OPER_STATE_DOWN);
         netdev->clear_speed_bps();
       }
       return true;
     }},
    {"half rate",
     [](Node& n) {
       v1::Port* port = Port(n);
       if (!port) return false;
       port->set_rate_bps(port->rate_bps() / 2);
       v1::NetInterface* netdev = Netdev(n);
       if (netdev && netdev->has_speed_bps()) netdev->set_speed_bps(netdev->speed_bps() / 2);
       return true;
     }},
    {"small MTU",
     [](Node& n) {
       v1::NetInterface* netdev = Netdev(n);
       v1::Port* port = Port(n);
       if (!netdev || netdev->mtu_bytes() < 4000) return false;
       netdev->set_mtu_bytes(port->link_layer() == v1::LINK_LAYER_INFINIBAND ? 2044 : 1500);
       port->set_active_mtu_bytes(port->link_layer() == v1::LINK_LAYER_INFINIBAND ? 2048 : 1024);
       return true;
     }},
    {"PFC off",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (netdev) netdev->mutable_dcb()->mutable_pfc()->set_enabled_mask(0);
       return netdev != nullptr;
     }},
    {"PFC on another priority",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (netdev) netdev->mutable_dcb()->mutable_pfc()->set_enabled_mask(0x10);
       return netdev != nullptr;
     }},
    {"trust PCP",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev) return false;
       netdev->mutable_dcb()->set_trust(v1::TRUST_PCP);
       netdev->mutable_dcb()->clear_app();
       netdev->mutable_dcb()->clear_dscp_to_priority();
       return true;
     }},
    {"global pause",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev) return false;
       netdev->mutable_global_pause()->set_rx(true);
       netdev->mutable_global_pause()->set_tx(true);
       return true;
     }},
    {"other firmware",
     [](Node& n) {
       v1::RdmaDevice* device = Device(n);
       if (!device || !device->has_firmware()) return false;
       device->set_firmware("1.2.3");
       return true;
     }},
    {"other kernel",
     [](Node& n) {
       if (n.node().kernel_release().empty()) return false;
       n.mutable_node()->set_kernel_release("4.18.0-1.el8");
       return true;
     }},
    {"card vanished",
     [](Node& n) {
       const v1::RdmaDevice* device = Device(n);
       if (!device) return false;
       const std::string card = device->pci_address().substr(0, kCardLength);
       const auto is_of_card = [&](const auto& of) { return of.pci_address().starts_with(card); };
       Erase(*n.mutable_pci_functions(),
             [&](const auto& function) { return function.address().starts_with(card); });
       Erase(*n.mutable_net_interfaces(), is_of_card);
       for (const v1::RdmaDevice& gone : n.rdma_devices())
         if (is_of_card(gone))
           Erase(*n.mutable_gpu_nic_paths(),
                 [&](const auto& path) { return path.device() == gone.name(); });
       Erase(*n.mutable_rdma_devices(), is_of_card);
       return true;
     }},
    {"card without driver",
     [](Node& n) {
       v1::PciFunction* function = Function(n);
       if (!function) return false;
       function->clear_driver();
       return RemoveDevice(n);
     }},
    {"driver without RDMA device", [](Node& n) { return Function(n) && RemoveDevice(n); }},
    {"half of the lanes",
     [](Node& n) {
       v1::PciFunction* function = Function(n);
       if (!function || function->link().width() < 8) return false;
       function->mutable_link()->set_width(function->link().width() / 2);
       return true;
     }},
    {"half of the PCIe speed",
     [](Node& n) {
       v1::PciFunction* function = Function(n);
       if (!function || !function->has_link()) return false;
       function->mutable_link()->set_speed_megatransfers_per_second(8000);
       return true;
     }},
    {"fatal PCIe error",
     [](Node& n) {
       v1::PciFunction* function = Function(n);
       if (!function) return false;
       function->set_aer_fatal(1);
       return true;
     }},
    {"locked memory limited",
     [](Node& n) {
       if (!Device(n)) return false;
       for (v1::MemoryLimit* limit : {n.mutable_host()->mutable_default_user_memlock(),
                                      n.mutable_job()->mutable_memlock()}) {
         limit->set_unlimited(false);
         limit->set_soft_bytes(65536);
         limit->set_hard_bytes(65536);
       }
       return true;
     }},
    {"address lost",
     [](Node& n) {
       v1::NetInterface* netdev = Netdev(n);
       v1::Port* port = Port(n);
       if (!netdev || port->link_layer() != v1::LINK_LAYER_ETHERNET || port->gids_size() < 2)
         return false;
       netdev->clear_addresses();
       Erase(*port->mutable_gids(), [](const v1::Gid& gid) { return !gid.link_local(); });
       return true;
     }},
    {"GPU without driver",
     [](Node& n) {
       if (n.gpus_size() == 0) return false;
       n.mutable_gpus(0)->clear_driver();
       for (v1::PciFunction& function : *n.mutable_pci_functions())
         if (function.address() == n.gpus(0).pci_address()) function.clear_driver();
       return true;
     }},
    {"GPU vanished",
     [](Node& n) {
       if (n.gpus_size() < 2) return false;
       const std::string address = n.gpus(0).pci_address();
       Erase(*n.mutable_pci_functions(),
             [&](const auto& function) { return function.address() == address; });
       Erase(*n.mutable_gpu_nic_paths(), [&](const auto& path) { return path.gpu() == address; });
       n.mutable_gpus()->DeleteSubrange(0, 1);
       return true;
     }},
    {"GIDs in another order",
     [](Node& n) {
       v1::Port* port = Port(n);
       if (!port || port->link_layer() != v1::LINK_LAYER_ETHERNET) return false;
       bool any = false;
       for (v1::Gid& gid : *port->mutable_gids()) {
         if (gid.link_local()) continue;
         gid.set_index(gid.index() + 2);
         any = true;
       }
       return any && port->gids().size() > 1;
     }},
    {"two ports in one subnet",
     [](Node& n) {
       const v1::RdmaDevice* first = Device(n);
       const v1::NetInterface* from = Netdev(n);
       if (!first || !from || from->addresses().empty() ||
           first->ports(0).link_layer() != v1::LINK_LAYER_ETHERNET)
         return false;
       for (v1::RdmaDevice& device : *n.mutable_rdma_devices()) {
         v1::NetInterface* netdev = Named(n, device.ports(0).netdev());
         if (device.name() == first->name() || !netdev || netdev->addresses().empty() ||
             device.function().kind() != v1::FUNCTION_KIND_PHYSICAL)
           continue;
         const std::string subnet = from->addresses(0).substr(0, from->addresses(0).rfind('.'));
         netdev->set_addresses(0, Format("{}.{}/24", subnet, 200 + n.node().name().size()));
         return true;
       }
       return false;
     }},
    {"ACS redirects at the ports of a switch",
     [](Node& n) {
       for (v1::GpuNicPath& path : *n.mutable_gpu_nic_paths()) {
         if (path.distance() != v1::PCI_DISTANCE_PIX || path.bridges().empty()) continue;
         path.add_acs_redirects(path.bridges(0));
         for (v1::PciFunction& function : *n.mutable_pci_functions()) {
           if (function.address() != path.bridges(0)) continue;
           function.mutable_acs()->set_control(0x1d);
           function.mutable_acs()->set_redirects(true);
         }
         return true;
       }
       return false;
     }},
    {"port of a virtual function down",
     [](Node& n) {
       for (v1::RdmaDevice& device : *n.mutable_rdma_devices()) {
         if (device.function().kind() != v1::FUNCTION_KIND_VIRTUAL ||
             device.ports(0).link_layer() != v1::LINK_LAYER_INFINIBAND)
           continue;
         device.mutable_ports(0)->set_state(v1::PORT_STATE_DOWN);
         device.mutable_ports(0)->set_lid(0xffff);
         return true;
       }
       return false;
     }},
    {"all RDMA devices vanished",
     [](Node& n) {
       if (n.rdma_devices_size() == 0) return false;
       while (n.rdma_devices_size() > 0) {
         const std::string address = n.rdma_devices(0).pci_address();
         const auto is_here = [&](const auto& of) { return of.pci_address() == address; };
         Erase(*n.mutable_net_interfaces(), is_here);
         Erase(*n.mutable_pci_functions(),
               [&](const auto& function) { return function.address() == address; });
         n.mutable_rdma_devices()->DeleteSubrange(0, 1);
       }
       n.clear_gpu_nic_paths();
       return true;
     }},
    {"DSCP 26 to a lossy priority",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev || netdev->dcb().dscp_to_priority_size() != 64) return false;
       netdev->mutable_dcb()->set_dscp_to_priority(26, 0);
       Erase(*netdev->mutable_dcb()->mutable_app(),
             [](const v1::AppEntry& entry) { return entry.protocol() == 26; });
       return true;
     }},
    {"ECN off",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev || !netdev->has_congestion_control()) return false;
       v1::CongestionControl* control = netdev->mutable_congestion_control();
       for (auto* points : {control->mutable_notification_point_enabled(),
                            control->mutable_reaction_point_enabled()})
         for (bool& enabled : *points) enabled = false;
       if (control->has_ecn_enabled()) control->set_ecn_enabled(false);
       return true;
     }},
    {"CNPs in another class",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev || !netdev->congestion_control().has_cnp_dscp()) return false;
       netdev->mutable_congestion_control()->set_cnp_dscp(0);
       return true;
     }},
    {"all priorities in one traffic class",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev || !netdev->dcb().has_ets()) return false;
       for (std::uint32_t& tc : *netdev->mutable_dcb()->mutable_ets()->mutable_priority_to_tc())
         tc = 0;
       return true;
     }},
    {"no bandwidth for the lossless class",
     [](Node& n) {
       v1::NetInterface* netdev = Settings(n);
       if (!netdev || netdev->dcb().ets().tc_tx_bandwidth_percent_size() < 8) return false;
       v1::Ets* ets = netdev->mutable_dcb()->mutable_ets();
       const auto tc = static_cast<int>(ets->priority_to_tc(3));
       const int other = tc == 0 ? 1 : 0;
       if (ets->tc_algorithm(tc) != 2 || ets->tc_algorithm(other) != 2) return false;
       ets->set_tc_tx_bandwidth_percent(
           other, ets->tc_tx_bandwidth_percent(other) + ets->tc_tx_bandwidth_percent(tc));
       ets->set_tc_tx_bandwidth_percent(tc, 0);
       return true;
     }},
    {"RoCE v1 only",
     [](Node& n) {
       v1::Port* port = Port(n);
       if (!port) return false;
       const int before = port->gids_size();
       Erase(*port->mutable_gids(),
             [](const v1::Gid& gid) { return gid.type() == v1::GID_TYPE_ROCE_V2; });
       return port->gids_size() < before;
     }},
    {"short PCIe read requests",
     [](Node& n) {
       v1::PciFunction* function = Function(n);
       if (!function || !function->has_max_read_request_bytes()) return false;
       function->set_max_read_request_bytes(128);
       return true;
     }},
    {"default P_Key lost",
     [](Node& n) {
       v1::Port* port = Port(n);
       if (!port || port->link_layer() != v1::LINK_LAYER_INFINIBAND || port->pkeys().empty())
         return false;
       port->set_pkeys(0, 0x7fff);
       return true;
     }},
    {"no subnet manager",
     [](Node& n) {
       v1::Port* port = Port(n);
       if (!port || port->link_layer() != v1::LINK_LAYER_INFINIBAND) return false;
       port->set_state(v1::PORT_STATE_INIT);
       port->set_lid(0);
       port->set_sm_lid(0);
       return true;
     }},
    {"another subnet prefix",
     [](Node& n) {
       v1::Port* port = Port(n);
       if (!port || !port->has_subnet_prefix()) return false;
       port->set_subnet_prefix("fec0:0000:0000:0001");
       return true;
     }},
    {"NUMA node unknown",
     [](Node& n) {
       v1::RdmaDevice* device = Device(n);
       v1::PciFunction* function = Function(n);
       if (!function || !device->has_numa_node() || n.host().numa_nodes() < 2) return false;
       device->set_numa_node(-1);
       function->clear_numa_node();
       return true;
     }},
    {"GPUDirect modules not loaded",
     [](Node& n) {
       if (!n.peer_memory().nvidia_peermem_loaded()) return false;
       n.mutable_peer_memory()->set_nvidia_peermem_loaded(false);
       n.mutable_peer_memory()->set_bound_to_ib_core(false);
       n.mutable_peer_memory()->clear_clients();
       return true;
     }},
    {"IOMMU translates",
     [](Node& n) {
       v1::PciFunction* function = Function(n);
       if (!function || !function->has_iommu_type()) return false;
       for (v1::PciFunction& other : *n.mutable_pci_functions())
         if (other.iommu_type() == "identity") other.set_iommu_type("DMA-FQ");
       n.mutable_host()->set_iommu_default_type("DMA-FQ");
       return true;
     }},
    {"bond lost a member",
     [](Node& n) {
       for (v1::NetInterface& netdev : *n.mutable_net_interfaces()) {
         if (!netdev.has_bond_member()) continue;
         netdev.mutable_bond_member()->set_mii_up(false);
         netdev.mutable_bond_member()->set_active(false);
         netdev.set_carrier(false);
         netdev.set_oper_state(v1::OPER_STATE_DOWN);
         return true;
       }
       return false;
     }},
    {"clock not synchronized",
     [](Node& n) {
       if (!Device(n)) return false;
       n.mutable_time_sync()->set_synchronized(false);
       n.mutable_time_sync()->set_source("adjtimex");
       return true;
     }},
    {"GPU below another socket",
     [](Node& n) {
       for (v1::GpuNicPath& path : *n.mutable_gpu_nic_paths()) {
         if (path.distance() != v1::PCI_DISTANCE_PIX) continue;
         path.set_distance(v1::PCI_DISTANCE_SYS);
         path.clear_bridges();
         return true;
       }
       return false;
     }},
    {"agent cannot read anything",
     [](Node& n) {
       if (n.rdma_devices().empty()) return false;
       n.clear_rdma_devices();
       n.clear_net_interfaces();
       n.clear_pci_functions();
       n.clear_gpu_nic_paths();
       n.clear_gpus();
       v1::Gap* gap = n.add_gaps();
       gap->set_inspector("rdma");
       gap->set_path("/sys/class/infiniband");
       gap->set_code(v1::GAP_CODE_PERMISSION_DENIED);
       gap->set_reason("cannot open: permission denied");
       return true;
     }},
};

}  // namespace

std::span<const HostFault> HostFaults() {
  return kFaults;
}

}  // namespace fabric::testing
