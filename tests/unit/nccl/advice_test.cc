// Each variable: called for, not called for, undecided.
#include "nccl/advice.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/text.h"

namespace fabric::nccl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void AddGid(v1::Port& port, std::uint32_t index, v1::GidType type, const std::string& address) {
  v1::Gid& gid = *port.add_gids();
  gid.set_index(index);
  gid.set_type(type);
  gid.set_link_local(address.empty());
  if (address.find(':') != std::string::npos)
    gid.set_ipv6(address);
  else
    gid.set_ipv4(address);
}

// As mlx5 fills its table: v1 and v2 of the link-local address, then of the given one.
void AddUsualGids(v1::Port& port, const std::string& address) {
  AddGid(port, 0, v1::GID_TYPE_ROCE_V1, "");
  AddGid(port, 1, v1::GID_TYPE_ROCE_V2, "");
  AddGid(port, 2, v1::GID_TYPE_ROCE_V1, address);
  AddGid(port, 3, v1::GID_TYPE_ROCE_V2, address);
}

void SetLossless(v1::NetInterface& netdev, std::uint32_t mask) {
  v1::DcbConfig& dcb = *netdev.mutable_dcb();
  dcb.mutable_pfc()->set_enabled_mask(mask);
  dcb.set_trust(v1::TRUST_DSCP);
  for (std::uint32_t dscp = 0; dscp < 64; ++dscp) dcb.add_dscp_to_priority(dscp / 8);
}

v1::RdmaDevice& AddDevice(v1::NodeSnapshot& node, int index, v1::LinkLayer layer) {
  v1::RdmaDevice& device = *node.add_rdma_devices();
  device.set_name(Format("mlx5_{}", index));
  device.set_driver("mlx5_core");
  device.set_pci_address(Format("0000:{}7:00.0", index + 1));
  device.mutable_function()->set_kind(v1::FUNCTION_KIND_PHYSICAL);
  device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
  v1::Port& port = *device.add_ports();
  port.set_number(1);
  port.set_state(v1::PORT_STATE_ACTIVE);
  port.set_link_layer(layer);
  return device;
}

// Two RoCE ports with PFC for priority 3 and eth9 for management; no GPU, no virtual machine.
v1::NodeSnapshot RoceNode() {
  v1::NodeSnapshot node;
  for (int i = 0; i < 2; ++i) {
    v1::RdmaDevice& device = AddDevice(node, i, v1::LINK_LAYER_ETHERNET);
    v1::NetInterface& netdev = *node.add_net_interfaces();
    netdev.set_name(Format("eth{}", i));
    netdev.set_carrier(true);
    netdev.set_pci_address(device.pci_address());
    SetLossless(netdev, 1 << 3);
    device.mutable_ports(0)->set_netdev(netdev.name());
    AddUsualGids(*device.mutable_ports(0), Format("10.0.{}.1", i));
  }
  v1::NetInterface& management = *node.add_net_interfaces();
  management.set_name("eth9");
  management.set_carrier(true);
  management.set_pci_address("0000:01:00.0");
  node.mutable_host()->set_virtualization("none");
  return node;
}

v1::NodeSnapshot InfinibandNode() {
  v1::NodeSnapshot node;
  for (int i = 0; i < 2; ++i)
    AddDevice(node, i, v1::LINK_LAYER_INFINIBAND).mutable_ports(0)->set_lid(7);
  node.mutable_host()->set_virtualization("none");
  return node;
}

std::string ValueOf(const v1::NcclAdvice& advice, const std::string& name) {
  for (const v1::NcclVariable& variable : advice.variables())
    if (variable.name() == name) return variable.value();
  return "";
}

std::string Why(const google::protobuf::RepeatedPtrField<v1::NcclRemark>& remarks,
                const std::string& name) {
  std::string why;
  for (const v1::NcclRemark& remark : remarks)
    if (remark.name() == name) why += remark.reason() + "\n";
  return why;
}

std::string Undecided(const v1::NcclAdvice& advice, const std::string& name) {
  return Why(advice.undecided(), name);
}
std::string Unset(const v1::NcclAdvice& advice, const std::string& name) {
  return Why(advice.left_unset(), name);
}

TEST(NcclPorts, TheActivePortsOfTheFabricByExactName) {
  const v1::NcclAdvice advice = Advise(RoceNode());
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1");
  EXPECT_THAT(advice.left_out(), IsEmpty());
}

struct LeftOut {
  const char* name;
  std::function<void(v1::RdmaDevice&)> make;
  const char* reason;
};

class NcclPortLeftOut : public ::testing::TestWithParam<LeftOut> {};

TEST_P(NcclPortLeftOut, WithTheReason) {
  v1::NodeSnapshot node = RoceNode();
  GetParam().make(*node.mutable_rdma_devices(1));
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_HCA"), "=mlx5_0:1");
  ASSERT_EQ(advice.left_out_size(), 1);
  EXPECT_THAT(advice.left_out(0).reason(), HasSubstr(GetParam().reason));
}

void SetRole(v1::RdmaDevice& device, v1::FunctionRole role) {
  device.mutable_function()->set_role(role);
  device.mutable_function()->set_reason("eth1 says so");
}

INSTANTIATE_TEST_SUITE_P(
    Each, NcclPortLeftOut,
    ::testing::Values(
        LeftOut{"Storage", [](auto& d) { SetRole(d, v1::FUNCTION_ROLE_STORAGE); },
                "for storage: eth1 says so"},
        LeftOut{"Management", [](auto& d) { SetRole(d, v1::FUNCTION_ROLE_MANAGEMENT); },
                "for management"},
        LeftOut{"NvSwitch", [](auto& d) { SetRole(d, v1::FUNCTION_ROLE_NVSWITCH_MANAGEMENT); },
                "manages NVSwitches"},
        LeftOut{"VirtualFunction",
                [](auto& d) { d.mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL); },
                "a virtual function; its physical function mlx5_0 is on this machine"},
        LeftOut{"Software",
                [](auto& d) {
                  d.clear_function();
                  d.set_driver("rxe");
                },
                "emulated in software"},
        LeftOut{"Iwarp", [](auto& d) { d.set_protocol(v1::PROTOCOL_IWARP); }, "iWARP"},
        LeftOut{"Efa", [](auto& d) { d.set_driver("efa"); }, "OFI plugin"},
        LeftOut{"Down", [](auto& d) { d.mutable_ports(0)->set_state(v1::PORT_STATE_DOWN); },
                "it is DOWN"},
        LeftOut{"StateNotRead", [](auto& d) { d.mutable_ports(0)->clear_state(); },
                "its state is unknown"},
        LeftOut{"LinkLocalOnly",
                [](auto& d) {
                  d.mutable_ports(0)->clear_gids();
                  AddGid(*d.mutable_ports(0), 1, v1::GID_TYPE_ROCE_V2, "");
                },
                "only link-local RoCE v2 GIDs"},
        LeftOut{"HostileName", [](auto& d) { d.set_name("mlx5_1;reboot"); },
                "characters that a shell"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(NcclPorts, AVirtualFunctionInAGuestIsUsed) {
  v1::NodeSnapshot node = RoceNode();
  for (v1::RdmaDevice& device : *node.mutable_rdma_devices())
    device.mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  EXPECT_EQ(ValueOf(Advise(node), "NCCL_IB_HCA"), "=mlx5_0:1,mlx5_1:1");
}

TEST(NcclPorts, BothLinkLayersAreNotDecidedBetween) {
  v1::NodeSnapshot node = RoceNode();
  node.mutable_rdma_devices(1)->mutable_ports(0)->set_link_layer(v1::LINK_LAYER_INFINIBAND);
  EXPECT_THAT(Undecided(Advise(node), "NCCL_IB_HCA"), HasSubstr("keep the ports of one kind"));
}

TEST(NcclPorts, WithoutAnyPortThereIsNoVariable) {
  v1::NodeSnapshot node = InfinibandNode();
  for (v1::RdmaDevice& device : *node.mutable_rdma_devices()) device.mutable_ports(0)->set_lid(0);
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_THAT(advice.ports(), IsEmpty());
  EXPECT_THAT(advice.variables(), IsEmpty());
  EXPECT_THAT(EnvText(advice), HasSubstr("# No RDMA port of this machine is usable"));
}

TEST(NcclAddressing, TheFamilyWhereNcclFindsTheGidByItself) {
  const v1::NcclAdvice advice = Advise(RoceNode());
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_ADDR_FAMILY"), "AF_INET");
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_ROCE_VERSION_NUM"), "2");
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_GID_INDEX"), "");
  EXPECT_THAT(Unset(advice, "NCCL_IB_GID_INDEX"), HasSubstr("NCCL_IB_GID_INDEX=3"));
}

TEST(NcclAddressing, DifferentIndexesAreNoObstacleToTheFamily) {
  v1::NodeSnapshot node = RoceNode();
  v1::Port& port = *node.mutable_rdma_devices(1)->mutable_ports(0);
  port.clear_gids();
  AddGid(port, 0, v1::GID_TYPE_ROCE_V2, "");
  AddGid(port, 1, v1::GID_TYPE_ROCE_V2, "10.0.1.1");
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_ADDR_FAMILY"), "AF_INET");
  EXPECT_THAT(Unset(advice, "NCCL_IB_GID_INDEX"), HasSubstr("not the same on all ports"));
}

TEST(NcclAddressing, Ipv6WhereThereIsNoIpv4) {
  v1::NodeSnapshot node = RoceNode();
  for (v1::RdmaDevice& device : *node.mutable_rdma_devices()) {
    device.mutable_ports(0)->clear_gids();
    AddUsualGids(*device.mutable_ports(0), "fd00::1");
  }
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_ADDR_FAMILY"), "AF_INET6");
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_GID_INDEX"), "");
}

TEST(NcclAddressing, TheIndexWhereNcclWouldTakeAnother) {
  v1::NodeSnapshot node = RoceNode();
  for (v1::RdmaDevice& device : *node.mutable_rdma_devices()) {
    v1::Port& port = *device.mutable_ports(0);
    port.clear_gids();
    AddGid(port, 0, v1::GID_TYPE_ROCE_V2, "");
    AddGid(port, 1, v1::GID_TYPE_ROCE_V2, "169.254.3.4");
    AddGid(port, 2, v1::GID_TYPE_ROCE_V2, "10.0.0.1");
  }
  v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_GID_INDEX"), "2");
  node.mutable_rdma_devices(1)->mutable_ports(0)->mutable_gids(2)->set_index(5);
  advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_GID_INDEX"), "");
  EXPECT_THAT(Undecided(advice, "NCCL_IB_GID_INDEX"), HasSubstr("NCCL_IB_ADDR_RANGE"));
}

TEST(NcclAddressing, NotKnownWithoutGids) {
  v1::NodeSnapshot node = RoceNode();
  node.mutable_rdma_devices(0)->mutable_ports(0)->clear_gids();
  EXPECT_THAT(Undecided(Advise(node), "NCCL_IB_GID_INDEX"), HasSubstr("mlx5_0:1"));
}

TEST(NcclAddressing, NothingOnInfiniband) {
  const v1::NcclAdvice advice = Advise(InfinibandNode());
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_ADDR_FAMILY"), "");
  EXPECT_EQ(Unset(advice, "NCCL_IB_GID_INDEX") + Undecided(advice, "NCCL_IB_GID_INDEX"), "");
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_TC") + Undecided(advice, "NCCL_IB_TC"), "");
}

TEST(NcclTrafficClass, TheUsualDscpOfTheLosslessPriority) {
  EXPECT_EQ(ValueOf(Advise(RoceNode()), "NCCL_IB_TC"), "106");  // 26 << 2 | 2
}

TEST(NcclTrafficClass, WhatTheMachineNamesComesFirst) {
  v1::NodeSnapshot node = RoceNode();
  node.mutable_net_interfaces(1)->mutable_congestion_control()->set_roce_dscp(30);
  EXPECT_EQ(ValueOf(Advise(node), "NCCL_IB_TC"), "122");
  node.mutable_rdma_devices(0)->mutable_ports(0)->mutable_roce_defaults()->set_traffic_class(96);
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_TC"), "98");
  EXPECT_THAT(EnvText(advice), HasSubstr("has no effect on mlx5_0:1 (96)"));
}

TEST(NcclTrafficClass, AnotherLosslessPriorityMeansAnotherDscp) {
  v1::NodeSnapshot node = RoceNode();
  for (int i = 0; i < 2; ++i) {
    node.mutable_net_interfaces(i)->mutable_dcb()->clear_dscp_to_priority();
    SetLossless(*node.mutable_net_interfaces(i), 1 << 5);
  }
  EXPECT_THAT(Undecided(Advise(node), "NCCL_IB_TC"), HasSubstr("DSCP 40 to 47 lead to"))
      << "which of them the switches treat as lossless is not known";
  for (int i = 0; i < 2; ++i) {
    v1::AppEntry& entry = *node.mutable_net_interfaces(i)->mutable_dcb()->add_app();
    entry.set_selector(v1::APP_SELECTOR_DSCP);
    entry.set_protocol(42);
    entry.set_priority(5);
  }
  EXPECT_EQ(ValueOf(Advise(node), "NCCL_IB_TC"), "170");  // 42 << 2 | 2
}

struct NoTrafficClass {
  const char* name;
  std::function<void(v1::DcbConfig&)> make;
  const char* reason;
};

class NcclTrafficClassUndecided : public ::testing::TestWithParam<NoTrafficClass> {};

TEST_P(NcclTrafficClassUndecided, WithTheReason) {
  v1::NodeSnapshot node = RoceNode();
  GetParam().make(*node.mutable_net_interfaces(1)->mutable_dcb());
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_IB_TC"), "");
  EXPECT_THAT(Undecided(advice, "NCCL_IB_TC"), HasSubstr(GetParam().reason));
}

INSTANTIATE_TEST_SUITE_P(
    Each, NcclTrafficClassUndecided,
    ::testing::Values(
        NoTrafficClass{"NoPfc", [](auto& dcb) { dcb.clear_pfc(); }, "mlx5_1:1: its PFC setting"},
        NoTrafficClass{"PfcOff", [](auto& dcb) { dcb.mutable_pfc()->clear_enabled_mask(); },
                       "PFC is on for no priority"},
        NoTrafficClass{"TrustNotRead", [](auto& dcb) { dcb.clear_trust(); },
                       "its trust mode (DSCP or PCP) is unknown"},
        NoTrafficClass{"TrustsPcp", [](auto& dcb) { dcb.set_trust(v1::TRUST_PCP); },
                       "it trusts pcp"},
        NoTrafficClass{"NoMap", [](auto& dcb) { dcb.clear_dscp_to_priority(); },
                       "its map from DSCP to priority"},
        NoTrafficClass{"TwoPriorities",
                       [](auto& dcb) { dcb.mutable_pfc()->set_enabled_mask(0x18); },
                       "priorities 3,4 are lossless"},
        NoTrafficClass{"OtherPriority",
                       [](auto& dcb) { dcb.mutable_pfc()->set_enabled_mask(0x10); },
                       "their maps differ"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(NcclTrafficClass, NotKnownWithoutDcb) {
  v1::NodeSnapshot node = RoceNode();
  node.mutable_net_interfaces(0)->clear_dcb();
  EXPECT_THAT(Undecided(Advise(node), "NCCL_IB_TC"), HasSubstr("mlx5_0:1: no DCB settings"));
}

TEST(NcclSockets, TheManagementNetdev) {
  v1::NodeSnapshot node = RoceNode();
  EXPECT_EQ(ValueOf(Advise(node), "NCCL_SOCKET_IFNAME"), "=eth9");
  v1::NetInterface& other = *node.add_net_interfaces();
  other = node.net_interfaces(2);
  other.set_name("eth8");
  EXPECT_THAT(Undecided(Advise(node), "NCCL_SOCKET_IFNAME"), HasSubstr("eth9, eth8"));
  node.mutable_net_interfaces(3)->mutable_function()->set_role(v1::FUNCTION_ROLE_MANAGEMENT);
  EXPECT_EQ(ValueOf(Advise(node), "NCCL_SOCKET_IFNAME"), "=eth8");
}

TEST(NcclSockets, NoneButRails) {
  v1::NodeSnapshot node = RoceNode();
  node.mutable_net_interfaces(2)->set_carrier(false);
  const v1::NcclAdvice advice = Advise(node);
  EXPECT_EQ(ValueOf(advice, "NCCL_SOCKET_IFNAME"), "");
  EXPECT_THAT(Undecided(advice, "NCCL_SOCKET_IFNAME"), HasSubstr("only netdevs of RDMA ports"));
}

TEST(NcclOrdering, InVirtualMachinesOnly) {
  constexpr const char* kName = "NCCL_IB_PCI_RELAXED_ORDERING";
  v1::NodeSnapshot node = RoceNode();
  EXPECT_EQ(ValueOf(Advise(node), kName), "");
  EXPECT_THAT(Unset(Advise(node), kName), HasSubstr("not a virtual machine"));
  node.mutable_host()->set_virtualization("kvm");
  EXPECT_EQ(ValueOf(Advise(node), kName), "1");
  node.mutable_host()->clear_virtualization();
  EXPECT_EQ(ValueOf(Advise(node), kName), "");
  EXPECT_THAT(Undecided(Advise(node), kName), Not(IsEmpty()));
}

v1::NodeSnapshot GpuNode(v1::PciDistance near) {
  v1::NodeSnapshot node = InfinibandNode();
  v1::Gpu& gpu = *node.add_gpus();
  gpu.set_pci_address("0000:1b:00.0");
  gpu.set_vendor_id("10de");
  for (int i = 0; i < 2; ++i) {
    v1::GpuNicPath& path = *node.add_gpu_nic_paths();
    path.set_gpu(gpu.pci_address());
    path.set_device(Format("mlx5_{}", i));
    path.set_distance(i == 0 ? v1::PCI_DISTANCE_SYS : near);
  }
  return node;
}

TEST(NcclGpuDirect, LevelIsLeftAloneWhereThePortIsNear) {
  const v1::NcclAdvice advice = Advise(GpuNode(v1::PCI_DISTANCE_PXB));
  EXPECT_THAT(Unset(advice, "NCCL_NET_GDR_LEVEL"), HasSubstr("at PXB or nearer"));
}

TEST(NcclGpuDirect, LevelIsToBeMeasuredWhereThePortIsFar) {
  EXPECT_THAT(Undecided(Advise(GpuNode(v1::PCI_DISTANCE_NODE)), "NCCL_NET_GDR_LEVEL"),
              HasSubstr("0000:1b:00.0 (NODE); whether PHB is faster"));
}

TEST(NcclGpuDirect, LevelNeedsThePaths) {
  v1::NodeSnapshot node = GpuNode(v1::PCI_DISTANCE_PIX);
  node.clear_gpu_nic_paths();
  EXPECT_THAT(Undecided(Advise(node), "NCCL_NET_GDR_LEVEL"), HasSubstr("unknown"));
  node = InfinibandNode();
  EXPECT_EQ(Undecided(Advise(node), "NCCL_NET_GDR_LEVEL"), "") << "without GPUs";
}

TEST(NcclGpuDirect, AccessControlIsNamed) {
  v1::NodeSnapshot node = GpuNode(v1::PCI_DISTANCE_PXB);
  node.mutable_gpu_nic_paths(1)->add_acs_redirects("0000:16:00.0");
  EXPECT_THAT(Undecided(Advise(node), "NCCL_NET_GDR_LEVEL"), HasSubstr("0000:16:00.0"));
}

TEST(NcclGpuDirect, DmaBuf) {
  constexpr const char* kName = "NCCL_DMABUF_ENABLE";
  v1::NodeSnapshot node = GpuNode(v1::PCI_DISTANCE_PIX);
  EXPECT_THAT(Undecided(Advise(node), kName), HasSubstr("unknown"));
  node.mutable_peer_memory()->mutable_dma_buf()->set_possible(true);
  EXPECT_EQ(ValueOf(Advise(node), kName), "");
  EXPECT_THAT(Unset(Advise(node), kName), HasSubstr("NCCL uses it"));
  node.mutable_gpus(0)->set_vendor_id("1002");
  EXPECT_EQ(ValueOf(Advise(node), kName), "1");
  node.mutable_peer_memory()->set_bound_to_ib_core(true);
  EXPECT_EQ(ValueOf(Advise(node), kName), "");
}

TEST(NcclRouting, IsNotGuessed) {
  const v1::NcclAdvice advice = Advise(RoceNode());
  for (const char* name :
       {"NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_CROSS_NIC"}) {
    EXPECT_EQ(ValueOf(advice, name), "");
    EXPECT_THAT(Undecided(advice, name), Not(IsEmpty()));
  }
  EXPECT_EQ(Undecided(Advise(InfinibandNode()), "NCCL_IB_ADAPTIVE_ROUTING"), "");
}

TEST(NcclEnvText, CannotBeBrokenOutOfByWhatACaptureHolds) {
  v1::NodeSnapshot node = RoceNode();
  node.mutable_host()->set_virtualization("kvm\nreboot");
  const std::string text = EnvText(Advise(node));
  for (const std::string_view line : Split(text, '\n'))
    EXPECT_TRUE(line.empty() || line.starts_with('#') || line.starts_with("NCCL_")) << line;
}

}  // namespace
}  // namespace fabric::nccl
