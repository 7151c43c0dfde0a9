// Single faults in complete, healthy fleets of RoCE and InfiniBand nodes: each gives the finding of
// one rule, and no second one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/testing/lossless.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/complete_nodes.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::DeviceOf;
using ::testing::ElementsAre;
using testing::FunctionOfGpu;
using testing::FunctionOfRail;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::PortOf;
using Fleet = std::vector<v1::NodeSnapshot>;
using Node = v1::NodeSnapshot;

struct InjectedFault {
  const char* what;
  void (*inject)(Node&);
  const char* finding;
};

void RunAtHalfRate(Node& node, std::uint32_t rail) {
  PortOf(node, rail).set_rate_bps(50'000'000'000);
  NetdevOf(node, rail).set_speed_bps(50'000'000'000);
}

// The card of the rail is there; its driver gave up.
void Unbind(Node& node, std::uint32_t rail) {
  const v1::PciFunction function = FunctionOfRail(node, rail);
  testing::RemoveCard(node, rail);
  v1::PciFunction& card = *node.add_pci_functions();
  card = function;
  card.clear_driver();
  std::sort(node.mutable_pci_functions()->begin(), node.mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
}

void SetEcn(Node& node, std::uint32_t rail, bool on) {
  NetdevOf(node, rail).mutable_congestion_control()->set_notification_point_enabled(3, on);
  NetdevOf(node, rail).mutable_congestion_control()->set_reaction_point_enabled(3, on);
}

void Limit(v1::MemoryLimit& limit) {
  limit.set_unlimited(false);
  limit.set_soft_bytes(65536);
  limit.set_hard_bytes(65536);
}

// Of both.
constexpr InjectedFault kFaultsOfAnyNode[] = {
    {"link down", [](Node& n) { testing::LinkDown(n, 1); }, "port_active n1/mlx5_1/1"},
    {"port DOWN without physical state",
     [](Node& n) {
       testing::LinkDown(n, 1);
       PortOf(n, 1).clear_physical_state();
     },
     "port_active n1/mlx5_1/1"},
    {"card without driver", [](Node& n) { Unbind(n, 1); }, "rdma_card_has_driver n1"},
    {"card vanished", [](Node& n) { testing::RemoveCard(n, 1); }, "fabric_card_present n1"},
    {"GPU without driver",
     [](Node& n) {
       n.mutable_gpus(0)->clear_driver();
       FunctionOfGpu(n).clear_driver();
     },
     "gpu_has_driver n1"},
    {"peer memory not loaded", [](Node& n) { testing::UnloadPeermem(n); }, "peermem_loaded n1"},
    {"NIC with half of its lanes",
     [](Node& n) { *FunctionOfRail(n, 1).mutable_link() = testing::Link(32, 8); },
     "pcie_link_width_as_capable n1/mlx5_1"},
    {"NIC at half of its PCIe speed",
     [](Node& n) { *FunctionOfRail(n, 1).mutable_link() = testing::Link(16, 16); },
     "pcie_link_speed_as_capable n1/mlx5_1"},
    {"GPU with half of its lanes",
     [](Node& n) { *FunctionOfGpu(n).mutable_link() = testing::Link(32, 8); },
     "pcie_link_width_as_capable n1"},
    {"fatal PCIe error", [](Node& n) { FunctionOfRail(n, 1).set_aer_fatal(1); },
     "pcie_no_fatal_errors n1/mlx5_1"},
    {"many correctable PCIe errors",
     [](Node& n) { FunctionOfRail(n, 1).set_aer_correctable(2'000'000); },
     "pcie_errors_like_equals n1/mlx5_1"},
    {"small read requests", [](Node& n) { FunctionOfRail(n, 1).set_max_read_request_bytes(512); },
     "pcie_read_request_equal n1/mlx5_1/1"},
    {"half rate", [](Node& n) { RunAtHalfRate(n, 1); }, "link_speed_equal_on_rail n1/mlx5_1/1"},
    {"half rate, board id and model not read",
     [](Node& n) {
       RunAtHalfRate(n, 1);
       DeviceOf(n, 1).clear_board_id();
       DeviceOf(n, 1).clear_model();
     },
     "link_speed_equal_on_rail n1/mlx5_1/1"},
    {"other firmware", [](Node& n) { DeviceOf(n, 1).set_firmware("28.36.1010"); },
     "firmware_equal n1/mlx5_1/1"},
    {"other kernel", [](Node& n) { n.mutable_node()->set_kernel_release("6.1.0-13-amd64"); },
     "kernel_release_equal n1"},
    {"locked memory limited",
     [](Node& n) {
       Limit(*n.mutable_host()->mutable_default_user_memlock());
       Limit(*n.mutable_job()->mutable_memlock());
     },
     "job_memlock_unlimited n1"},
    {"clock not synchronized", [](Node& n) { n.mutable_time_sync()->set_synchronized(false); },
     "clock_synchronized n1"},
    {"IOMMU translates",
     [](Node& n) {
       for (v1::PciFunction& function : *n.mutable_pci_functions()) function.set_iommu_type("DMA");
     },
     "iommu_passes_through n1"},
    {"ACS redirects",
     [](Node& n) {
       for (v1::GpuNicPath& path : *n.mutable_gpu_nic_paths())
         if (path.device() == "mlx5_1") path.add_acs_redirects("0000:00:18.0");
     },
     "acs_off_between_gpu_and_nic n1"},
    {"slow CPU governor",
     [](Node& n) { n.mutable_host()->mutable_cpu_power()->set_governors(0, "powersave"); },
     "cpu_governor_fast n1"},
    {"hot module", [](Node& n) { NetdevOf(n, 1).mutable_module()->set_temperature_celsius(95); },
     "module_within_limits n1/mlx5_1/1"},
    {"hot card",
     [](Node& n) { FunctionOfRail(n, 1).mutable_sensors(0)->set_temperature_celsius(120); },
     "card_temperature_within_limit n1/mlx5_1"},
};

constexpr InjectedFault kRoceFaults[] = {
    {"MTU 1500", [](Node& n) { testing::SetMtu(n, 1, 1500); }, "mtu_equal_on_rail n1/mlx5_1/1"},
    {"small RDMA MTU", [](Node& n) { PortOf(n, 1).set_active_mtu_bytes(1024); },
     "rdma_mtu_matches_netdev n1/mlx5_1/1"},
    {"PFC off", [](Node& n) { testing::SetPfc(n, 1, 0); }, "pfc_equal_on_rail n1/mlx5_1/1"},
    {"PFC on another priority", [](Node& n) { testing::SetPfc(n, 1, 0x10); },
     "pfc_equal_on_rail n1/mlx5_1/1"},
    {"priority trusted", [](Node& n) { testing::TrustPcp(n, 1); },
     "pfc_covers_roce_dscp n1/mlx5_1/1"},
    {"DSCP 26 to priority 0", [](Node& n) { testing::MapDscp(n, 1, 26, 0); },
     "pfc_covers_roce_dscp n1/mlx5_1/1"},
    {"ECN off", [](Node& n) { SetEcn(n, 1, false); }, "ecn_notified_on_data_priority n1/mlx5_1/1"},
    {"global pause on", [](Node& n) { NetdevOf(n, 1).mutable_global_pause()->set_rx(true); },
     "pfc_excludes_global_pause n1/mlx5_1/1"},
    {"DCBX by the firmware",
     [](Node& n) { NetdevOf(n, 1).mutable_dcb()->mutable_dcbx()->set_host(false); },
     "dcbx_mode_is_host n1/mlx5_1/1"},
    {"other DSCP of CNPs",
     [](Node& n) { NetdevOf(n, 1).mutable_congestion_control()->set_cnp_dscp(40); },
     "cnp_dscp_equal n1/mlx5_1/1"},
    {"other traffic class",
     [](Node& n) { PortOf(n, 1).mutable_roce_defaults()->set_traffic_class(0); },
     "traffic_class_carries_data_dscp n1/mlx5_1/1"},
    {"address lost", [](Node& n) { testing::DropAddress(n, 1); },
     "roce_v2_gid_present n1/mlx5_1/1"},
    {"address of another node", [](Node& n) { testing::SetAddress(n, 1, "10.10.1.2"); },
     "duplicate_gid fleet"},
    {"address of another subnet", [](Node& n) { testing::SetAddress(n, 1, "10.99.1.1"); },
     "rail_subnet_equal n1/mlx5_1/1"},
    {"half rate without netdev",
     [](Node& n) {
       PortOf(n, 1).set_rate_bps(50'000'000'000);
       NetdevOf(n, 1).clear_speed_bps();
     },
     "link_speed_equal_on_rail n1/mlx5_1/1"},
    {"FEC off", [](Node& n) { NetdevOf(n, 1).set_fec("off"); }, "fec_equal_on_rail n1/mlx5_1/1"},
};

constexpr InjectedFault kInfinibandFaults[] = {
    {"P_Key of a limited member", [](Node& n) { PortOf(n, 1).set_pkeys(0, 0x7fff); },
     "pkey_full_member n1/mlx5_1/1"},
    {"another P_Key", [](Node& n) { PortOf(n, 1).add_pkeys(0x8005); },
     "pkeys_equal_on_rail n1/mlx5_1/1"},
    {"MTU 2048", [](Node& n) { PortOf(n, 1).set_active_mtu_bytes(2048); },
     "mtu_equal_on_rail n1/mlx5_1/1"},
    {"two lanes",
     [](Node& n) {
       PortOf(n, 1).set_width(2);
       PortOf(n, 1).set_rate_bps(50'000'000'000);
     },
     "link_speed_equal_on_rail n1/mlx5_1/1"},
    {"no LID", [](Node& n) { PortOf(n, 1).set_lid(0); }, "lid_assigned n1/mlx5_1/1"},
    {"LID of another node", [](Node& n) { PortOf(n, 1).set_lid(21); }, "duplicate_lid fleet"},
    {"another subnet manager", [](Node& n) { PortOf(n, 1).set_sm_lid(7); },
     "sm_lid_equal_in_subnet n1/mlx5_1/1"},
    {"INIT", [](Node& n) { PortOf(n, 1).set_state(v1::PORT_STATE_INIT); },
     "port_active n1/mlx5_1/1"},
    {"INIT without physical state",
     [](Node& n) {
       PortOf(n, 1).set_state(v1::PORT_STATE_INIT);
       PortOf(n, 1).clear_physical_state();
     },
     "port_active n1/mlx5_1/1"},
    {"another subnet prefix",
     [](Node& n) { PortOf(n, 1).set_subnet_prefix("fec0:0000:0000:0001"); },
     "subnet_prefix_equal_on_rail n1/mlx5_1/1"},
    {"IPoIB netdev down",
     [](Node& n) {
       NetdevOf(n, 1).set_oper_state(v1::OPER_STATE_DOWN);
       NetdevOf(n, 1).set_carrier(false);
     },
     "ipoib_netdev_up n1/mlx5_1/1"},
    {"node GUID of zeros", [](Node& n) { DeviceOf(n, 1).set_node_guid("0000:0000:0000:0000"); },
     "node_guid_set n1/mlx5_1"},
    {"node GUID of another node",
     [](Node& n) { DeviceOf(n, 1).set_node_guid("5054:00ff:fe01:0002"); },
     "duplicate_node_guid fleet"},
};

// Without the subnet, equal LIDs may be in different subnets.
TEST(InjectedFaults, ALidOfAnotherNodeIsUnknownWithoutTheGids) {
  Fleet nodes = CompleteInfiniband();
  v1::Port& port = PortOf(nodes[0], 1);
  port.set_lid(21);
  port.clear_gids();
  port.clear_subnet_prefix();
  port.clear_port_guid();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ::testing::Contains("duplicate_lid n1/mlx5_1/1"));
}

void ExpectFindings(const Fleet& healthy, std::span<const InjectedFault> faults) {
  EXPECT_THAT(Failures(healthy), IsEmpty());
  for (const InjectedFault& fault : faults) {
    SCOPED_TRACE(fault.what);
    Fleet nodes = healthy;
    fault.inject(nodes[0]);
    EXPECT_THAT(Failures(nodes), ElementsAre(fault.finding));
  }
}

TEST(InjectedFaults, GiveOneFindingOnRoceNodes) {
  ExpectFindings(CompleteRoce(), kFaultsOfAnyNode);
  ExpectFindings(CompleteRoce(), kRoceFaults);
}

TEST(InjectedFaults, GiveOneFindingOnInfinibandNodes) {
  ExpectFindings(CompleteInfiniband(), kFaultsOfAnyNode);
  ExpectFindings(CompleteInfiniband(), kInfinibandFaults);
}

}  // namespace
}  // namespace fabric::rules
