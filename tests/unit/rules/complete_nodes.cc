#include "tests/unit/rules/complete_nodes.h"

#include <map>

#include "base/text.h"
#include "tests/testing/captured.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/jobs.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

using testing::Nodes;

// Power, firmware and NUMA nodes of the machine.
void CompleteHost(v1::HostFacts& host) {
  host.set_bios_version("2.1.5");
  host.set_bios_date("03/14/2024");
  host.set_copy_on_fork(true);
  host.set_numa_nodes(2);
  for (std::uint32_t id = 0; id < 2; ++id) {
    v1::NumaNode& numa = *host.add_numa_cpus();
    numa.set_id(id);
    numa.set_cpus(id == 0 ? "0-31" : "32-63");
  }
  v1::CpuPower& power = *host.mutable_cpu_power();
  power.add_governors("performance");
  power.set_frequency_driver("acpi-cpufreq");
  power.set_idle_latency_us(133);
}

// Sensors, interrupts, NVLinks, modules.
void CompleteHardware(v1::NodeSnapshot& node) {
  for (v1::PciFunction& function : *node.mutable_pci_functions()) {
    if (!function.class_code().starts_with("02")) continue;
    v1::Sensor& sensor = *function.add_sensors();
    sensor.set_name("temp1");
    sensor.set_temperature_celsius(60);
    sensor.set_critical_celsius(105);
    function.set_numa_node(0);
    v1::Interrupts& interrupts = *function.mutable_interrupts();
    interrupts.set_count(16);
    interrupts.set_cpus("0-15");
    interrupts.add_numa_nodes(0);
    interrupts.set_remote(0);
  }
  for (v1::GpuNicPath& path : *node.mutable_gpu_nic_paths())
    path.set_distance(v1::PCI_DISTANCE_PXB);
  for (v1::Gpu& gpu : *node.mutable_gpus()) {
    gpu.set_nvlinks(18);
    gpu.set_nvlinks_active(18);
  }
}

void CompleteModule(v1::NetInterface& netdev) {
  netdev.set_lanes(4);
  v1::Module& module = *netdev.mutable_module();
  module.set_vendor("NVIDIA");
  module.set_part_number("MMA1B00-C100D");
  module.set_temperature_celsius(45);
  module.mutable_temperature_limits()->set_alarm_high(80);
  module.mutable_temperature_limits()->set_alarm_low(-10);
}

// What the nodes of tests/testing lack.
void Complete(v1::NodeSnapshot& node) {
  v1::HostFacts& host = *node.mutable_host();
  host.set_rdma_stack_version("MLNX_OFED_LINUX-23.10-1.1.9.0");
  host.set_rdma_stack(v1::RDMA_STACK_OFED);
  v1::HugePages& pages = *host.add_hugepages();
  pages.set_page_bytes(2 << 20);
  pages.set_total(1024);
  pages.set_free(1000);
  testing::Logged(node, "mlx5", "mlx5_core 0000:17:00.0: Link up", 0);
  v1::JobView& job = *node.mutable_job();
  job.set_pid(4711);
  job.set_process("python3");
  job.set_pod_namespace("ml");
  job.set_pod_name("train-0");
  v1::KubernetesPod& pod = *node.add_pods();
  pod.set_namespace_("ml");
  pod.set_name("train-0");
  pod.set_uid("0c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f");
  v1::PodDevices& devices = *pod.add_devices();
  devices.set_resource("rdma/hca");
  devices.add_ids("1");
  job.mutable_memlock()->set_unlimited(true);
  job.set_rdma_cgroup_limits("mlx5_0 hca_handle=max hca_object=max");
  job.set_environment_known(true);
  testing::SetVariable(job, "NCCL_IB_TC", "106");
  testing::Map(job, "libnccl", "2.27.3");
  host.set_rdma_core_version("50");
  for (v1::RdmaDevice& device : *node.mutable_rdma_devices()) {
    device.add_character_devices("uverbs" + device.name().substr(device.name().size() - 1));
    device.add_character_devices("umad" + device.name().substr(device.name().size() - 1));
    device.set_driver_version("23.10");
    device.set_hca_type("MT4129");
    job.add_rdma_devices(device.name());
    job.add_usable_rdma_devices(device.name());
  }
  v1::PeerMemory& memory = *node.mutable_peer_memory();
  memory.set_bound_to_ib_core(true);
  memory.mutable_gpu_driver()->set_name("nvidia");
  memory.mutable_gpu_driver()->set_version("550.54.15");
  memory.mutable_gpu_driver()->set_open_module(true);
  for (v1::Gpu& gpu : *node.mutable_gpus()) gpu.set_bar1_bytes(std::uint64_t{128} << 30);
  CompleteHost(host);
  CompleteHardware(node);
  for (v1::NetInterface& netdev : *node.mutable_net_interfaces()) {
    netdev.set_autonegotiation(true);
    netdev.set_fec("rs");
    netdev.set_speed_max_bps(100'000'000'000);
    if (netdev.name() != "eth0") CompleteModule(netdev);
  }
}

void AddEthernet(v1::NodeSnapshot& node, std::uint32_t number) {
  const auto rails = static_cast<std::uint32_t>(node.rdma_devices_size());
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    testing::AddRoute(node, "10.10.0.0/16", Format("rail{}", rail), Format("10.10.{}.254", rail));
    testing::Hear(node, rail, Format("leaf{}", rail), Format("swp{}", number));
    v1::RoceDefaults& defaults = *testing::PortOf(node, rail).mutable_roce_defaults();
    defaults.set_traffic_class(106);
    defaults.set_rdma_cm_tos(106);
    defaults.set_rdma_cm_mode("RoCE v2");
  }
}

CompleteFleet FleetOf(v1::NodeSnapshot (*make)(const testing::NodeOptions&), bool ethernet,
                      std::uint32_t rails = 2) {
  CompleteFleet fleet;
  fleet.nodes = Nodes(3, make, {.rails = rails});
  std::uint32_t number = 0;
  for (v1::NodeSnapshot& node : fleet.nodes) {
    Complete(node);
    if (ethernet) AddEthernet(node, ++number);
  }
  return fleet;
}

v1::Expectations OfAnyNode() {
  v1::Expectations expected;
  expected.set_rate_bps(100'000'000'000);
  expected.set_max_read_request_bytes(4096);
  expected.set_relaxed_ordering(true);
  expected.set_iommu_type("identity");
  expected.set_fabric_ports(2);
  expected.set_gpus(1);
  expected.set_memlock_unlimited(true);
  expected.set_firmware("28.39.1002");
  expected.set_driver_version("23.10");
  expected.set_rdma_stack_version("MLNX_OFED_LINUX-23.10-1.1.9.0");
  expected.set_kernel_release("6.1.0-37-amd64");
  expected.set_time_offset_max_us(10'000);
  expected.set_nccl_version_min("2.20");
  return expected;
}

v1::Expectations OfRoce() {
  v1::Expectations expected = OfAnyNode();
  expected.set_protocol(v1::PROTOCOL_ROCE);
  expected.set_lossless(true);
  expected.mutable_pfc_priorities()->add_priorities(3);
  expected.set_trust(v1::TRUST_DSCP);
  expected.set_data_dscp(26);
  expected.set_data_priority(3);
  expected.set_cnp_dscp(48);
  expected.set_cnp_priority(6);
  expected.set_ecn(true);
  expected.set_global_pause(false);
  expected.set_dcbx_host(true);
  expected.set_netdev_mtu_bytes(9000);
  expected.set_gid_family(v1::ADDRESS_FAMILY_IPV4);
  expected.set_rails_routed(true);
  return expected;
}

v1::Expectations OfInfiniband() {
  v1::Expectations expected = OfAnyNode();
  expected.set_protocol(v1::PROTOCOL_INFINIBAND);
  expected.set_width(4);
  expected.set_subnet_prefix("fe80:0000:0000:0000");
  expected.add_full_pkeys(0x7fff);
  expected.set_ib_mtu_bytes(4096);
  return expected;
}

}  // namespace

v1::NodeSnapshot BondedNode(const testing::NodeOptions& options) {
  v1::NodeSnapshot node = testing::RoceNode(options);
  testing::FunctionOfRail(node, 1).set_address("0000:17:00.1");
  node.mutable_rdma_devices()->RemoveLast();
  v1::NetInterface bond = testing::NetdevOf(node, 0);
  bond.set_name("bond0");
  bond.clear_pci_address();
  bond.clear_driver();
  bond.mutable_bond()->set_mode("802.3ad");
  bond.mutable_bond()->set_transmit_hash_policy("layer3+4");
  for (std::uint32_t rail = 0; rail < 2; ++rail) {
    v1::NetInterface& member = testing::NetdevOf(node, rail);
    member.set_pci_address(Format("0000:17:00.{}", rail));
    member.set_master("bond0");
    member.clear_addresses();
    member.mutable_bond_member()->set_active(true);
    member.mutable_bond_member()->set_mii_up(true);
    bond.mutable_bond()->add_members(member.name());
  }
  v1::Port& port = testing::PortOf(node, 0);
  port.set_netdev("bond0");
  for (v1::Gid& gid : *port.mutable_gids()) gid.set_netdev("bond0");
  port.mutable_lag()->set_bond("bond0");
  port.mutable_lag()->set_formed(true);
  // The members have the settings of the link.
  bond.clear_dcb();
  bond.clear_congestion_control();
  bond.clear_global_pause();
  bond.clear_pfc_storm_prevention_ms();
  *node.add_net_interfaces() = bond;
  return node;
}

std::vector<v1::NodeSnapshot> CompleteRoce() {
  return FleetOf(testing::RoceNode, true, 4).nodes;
}

std::vector<v1::NodeSnapshot> CompleteInfiniband() {
  return FleetOf(testing::InfinibandNode, false, 4).nodes;
}

std::vector<CompleteFleet> CompleteFleets() {
  std::vector<CompleteFleet> fleets;
  fleets.push_back(FleetOf(testing::RoceNode, true, 4));
  fleets.push_back(FleetOf(BondedNode, true));
  fleets.push_back(FleetOf(testing::BnxtNode, true));
  fleets.push_back(FleetOf(testing::InfinibandNode, false));
  fleets.push_back(FleetOf(testing::RoceNode, true));
  fleets.back().expectations = OfRoce();
  fleets.push_back(FleetOf(testing::InfinibandNode, false));
  fleets.back().expectations = OfInfiniband();
  for (const char* machine : {"h100_infiniband", "roce_connectx6dx", "lag_vlan"})
    fleets.push_back({.nodes = {testing::Captured(machine)}, .expectations = {}});
  return fleets;
}

std::vector<std::string> InspectorsOf(const std::string& field) {
  static const std::map<std::string, std::vector<std::string>> kInspectors = {
      {"node", {"host_identity"}},
      {"rdma_devices",
       {"rdma_ports", "rdma_devices", "gids", "roce_defaults", "roce_lag", "character_devices"}},
      {"net_interfaces",
       {"net_interfaces", "dcb", "global_pause", "congestion_control", "pfc_storm_prevention",
        "bonds_and_vlans", "rdma_ports", "modules", "ipoib"}},
      {"gpus", {"gpus", "nvlinks"}},
      {"peer_memory", {"peer_memory"}},
      {"pci_functions", {"pci_functions", "interrupts", "sensors"}},
      {"gpu_nic_paths", {"gpu_nic_paths", "pci_functions"}},
      {"lldp_neighbors", {"lldp"}},
      {"host", {"host_facts", "host_limits", "rdma_stack", "rdma_devices", "cpu_power"}},
      {"kernel_log", {"kernel_log"}},
      {"time_sync", {"time_sync"}},
      {"job", {"job_view", "rdma_processes"}},
      {"pods", {"pods"}},
      {"routing", {"routing"}},
      {"ip_routes", {"routing"}},
  };
  const auto found = kInspectors.find(field);
  return found == kInspectors.end() ? std::vector<std::string>() : found->second;
}

}  // namespace fabric::rules
