// The inspectors dcb, global_pause, pfc_storm_prevention and pause_counters.
#include <gmock/gmock.h>

#include "agents/inspect/lossless.h"
#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint8_t kDscp = 5;
constexpr std::uint8_t kHostIeeeCee = 0x0d;

host::DcbIeee Lossless(std::uint8_t enabled_mask) {
  host::DcbIeee ieee;
  ieee.pfc = host::DcbPfc{.capability = 8, .enabled_mask = enabled_mask, .delay = 7};
  ieee.pfc->requests[3] = 11;
  ieee.pfc->indications[3] = 22;
  ieee.ets = host::DcbEts{.capability = 8};
  ieee.app = std::vector<host::DcbApp>();
  ieee.dcbx = kHostIeeeCee;
  return ieee;
}

class DcbNode : public ::testing::Test {
 protected:
  DcbNode() {
    node_.fake.dcb.status = Status();
    node_.fake.dcb.ieee["eth0"] = Lossless(0x08);
  }

  v1::DcbConfig Dcb() { return node_.Inspected().net_interfaces(0).dcb(); }

  void SetDriver(const std::string& driver) {
    node_.fake.ethtool.status = Status();
    node_.fake.ethtool.drivers["eth0"] = {.driver = driver};
  }

  SmallNode node_;
};

TEST_F(DcbNode, DcbReadsPfcEtsAndDcbx) {
  const v1::DcbConfig dcb = Dcb();
  EXPECT_EQ(dcb.pfc().enabled_mask(), 0x08u);
  EXPECT_EQ(dcb.pfc().delay(), 7u);
  EXPECT_THAT(dcb.ets().tc_tx_bandwidth_percent(), SizeIs(8));
  EXPECT_TRUE(dcb.app_read());
  EXPECT_TRUE(dcb.dcbx().host());
  EXPECT_FALSE(dcb.dcbx().lld_managed());
  EXPECT_THAT(GapsOf(node_.Inspected(), "dcb"), IsEmpty());
}

TEST_F(DcbNode, DcbTrustOfMlx5FollowsTheAppTable) {
  EXPECT_EQ(Dcb().trust(), v1::TRUST_PCP);
  node_.fake.dcb.ieee["eth0"].app = {{.selector = kDscp, .priority = 3, .protocol = 26}};
  const v1::DcbConfig dcb = Dcb();
  EXPECT_EQ(dcb.trust(), v1::TRUST_DSCP);
  ASSERT_THAT(dcb.dscp_to_priority(), SizeIs(64));
  EXPECT_EQ(dcb.dscp_to_priority(26), 3u);
  EXPECT_EQ(dcb.dscp_to_priority(27), 0u);
}

TEST_F(DcbNode, DcbTrustOfOthersIsUnknownWithoutDscpEntries) {
  SetDriver("ice");
  EXPECT_FALSE(Dcb().has_trust());
  EXPECT_THAT(GapsOf(node_.Inspected(), "dcb"),
              ElementsAre("eth0 netlink dcb eth0 trust: UNIMPLEMENTED the driver does not tell; "
                          "without a DSCP entry its default holds"));
  node_.fake.dcb.ieee["eth0"].app = {{.selector = kDscp, .priority = 3, .protocol = 26}};
  EXPECT_EQ(Dcb().trust(), v1::TRUST_DSCP);
  EXPECT_THAT(Dcb().dscp_to_priority(), IsEmpty()) << "63 of the entries are not known";
}

TEST_F(DcbNode, DcbTrustOfOfedFileIsASource) {
  SetDriver("ice");
  node_.File(kNetdev + "/qos/trust", "pcp\n");
  EXPECT_EQ(Dcb().trust(), v1::TRUST_PCP);
}

TEST_F(DcbNode, DcbAppEntriesAreSortedAndUnknownSelectorsDropped) {
  node_.fake.dcb.ieee["eth0"].app = {{.selector = kDscp, .priority = 3, .protocol = 26},
                                     {.selector = 77, .priority = 1, .protocol = 1},
                                     {.selector = 1, .priority = 3, .protocol = 0x8915}};
  const v1::DcbConfig dcb = Dcb();
  ASSERT_THAT(dcb.app(), SizeIs(2));
  EXPECT_EQ(dcb.app(0).selector(), v1::APP_SELECTOR_ETHERTYPE);
  EXPECT_EQ(dcb.app(1).protocol(), 26u);
}

TEST_F(DcbNode, DcbZerosOfBnxtAreNotPfcOff) {
  SetDriver("bnxt_en");
  node_.fake.dcb.ieee["eth0"] = Lossless(0);
  const v1::NodeSnapshot snapshot = node_.Inspected();
  EXPECT_FALSE(snapshot.net_interfaces(0).dcb().has_pfc());
  EXPECT_THAT(
      GapsOf(snapshot, "dcb"),
      Contains("eth0 netlink dcb eth0: UNAVAILABLE bnxt_en reports zeros until DCB is first "
               "set; firmware may use PFC"));
  node_.fake.dcb.ieee["eth0"].ets->tc_tx_bandwidth_percent[0] = 100;
  EXPECT_TRUE(Dcb().has_pfc());
}

TEST_F(DcbNode, DcbMissingIsAGapOnlyWhereRdmaNeedsIt) {
  node_.fake.dcb.ieee.clear();
  node_.tree.Link("sys/class/net/eth1/device", "../../../devices/pci0000:3a/0000:3b:00.0");
  const v1::NodeSnapshot snapshot = node_.Inspected();
  ASSERT_EQ(snapshot.net_interfaces_size(), 2);
  EXPECT_FALSE(snapshot.net_interfaces(0).has_dcb());
  EXPECT_THAT(GapsOf(snapshot, "dcb"),
              ElementsAre("eth0 netlink dcb eth0: UNIMPLEMENTED not in the table of the fake"));
}

TEST_F(DcbNode, DcbIsNotAskedOfIpoib) {
  node_.fake.dcb.ieee.clear();
  node_.File(kPort + "/link_layer", "InfiniBand\n");
  EXPECT_THAT(GapsOf(node_.Inspected(), "dcb"), IsEmpty());
}

TEST_F(DcbNode, DcbReadsBuffersRateLimitsCableAndPeer) {
  host::DcbIeee& ieee = node_.fake.dcb.ieee["eth0"];
  ieee.buffers = host::DcbBuffers{.priority_to_buffer = {0, 0, 0, 1}, .total_bytes = 262016};
  ieee.max_rate_kbps = {0, 25'000'000};
  ieee.peer_pfc = host::DcbPfc{.enabled_mask = 0x10};
  ieee.peer_ets = host::DcbEts{.willing = true};
  ieee.peer_app = {{.selector = 3, .priority = 4, .protocol = 4791}};
  const v1::DcbConfig dcb = Dcb();
  EXPECT_EQ(dcb.source(), "dcb netlink");
  EXPECT_EQ(dcb.cable_length_m(), 7u);
  EXPECT_EQ(dcb.buffers().priority_to_buffer(3), 1u);
  EXPECT_THAT(dcb.buffers().size_bytes(), SizeIs(8));
  EXPECT_EQ(dcb.buffers().total_bytes(), 262016u);
  EXPECT_EQ(dcb.max_rate_bps(1), 25'000'000'000u);
  EXPECT_EQ(dcb.peer_pfc().enabled_mask(), 0x10u);
  EXPECT_TRUE(dcb.peer_ets().willing());
  EXPECT_EQ(dcb.peer_app(0).protocol(), 4791u);
  EXPECT_FALSE(dcb.has_roce_v2_priority()) << "the peer's entry is not ours";
}

TEST_F(DcbNode, DcbDelayIsALengthForMlx5Only) {
  SetDriver("ice");
  EXPECT_FALSE(Dcb().has_cable_length_m());
  SetDriver("mlx5_core");
  node_.fake.dcb.ieee["eth0"].pfc->delay = 0;
  EXPECT_FALSE(Dcb().has_cable_length_m()) << "its buffers cannot be set";
}

TEST_F(DcbNode, DcbFindsThePriorityOfRoceV2) {
  node_.fake.dcb.ieee["eth0"].app = {{.selector = 3, .priority = 3, .protocol = 4791},
                                     {.selector = 4, .priority = 5, .protocol = 4791},
                                     {.selector = 3, .priority = 7, .protocol = 80}};
  EXPECT_EQ(Dcb().roce_v2_priority(), 5u);
}

TEST_F(DcbNode, DcbTrustThatTheDriverTellsIsTaken) {
  SetDriver("some_switch");
  node_.fake.dcb.ieee["eth0"].app_trust = {255, 5};
  EXPECT_EQ(Dcb().trust(), v1::TRUST_PCP);
  node_.fake.dcb.ieee["eth0"].app_trust = {1, 5};
  EXPECT_EQ(Dcb().trust(), v1::TRUST_DSCP);
}

TEST_F(DcbNode, DcbOfAnOldDriverIsReadAsCee) {
  SetDriver("qlcnic");
  node_.fake.dcb.ieee["eth0"] = {.app = std::vector<host::DcbApp>(), .dcbx = std::uint8_t{0x06}};
  node_.fake.dcb.cee["eth0"] = {.pfc_enabled_mask = std::uint8_t{0x08},
                                .app = {{{.selector = 4, .priority = 3, .protocol = 4791}}}};
  const v1::DcbConfig dcb = Dcb();
  EXPECT_EQ(dcb.source(), "dcb netlink (CEE)");
  EXPECT_EQ(dcb.pfc().enabled_mask(), 0x08u);
  EXPECT_EQ(dcb.roce_v2_priority(), 3u);
  EXPECT_TRUE(dcb.dcbx().lld_managed());
}

TEST(OwnSettings, AreNotThoseOfVirtualFunctionsAndBonds) {
  v1::NetInterface netdev;
  EXPECT_TRUE(HasOwnSettings(netdev)) << "not classified";
  netdev.mutable_function()->set_kind(v1::FUNCTION_KIND_PHYSICAL);
  EXPECT_TRUE(HasOwnSettings(netdev));
  netdev.mutable_function()->set_kind(v1::FUNCTION_KIND_VIRTUAL);
  EXPECT_FALSE(HasOwnSettings(netdev));
  netdev.clear_function();
  netdev.mutable_bond();
  EXPECT_FALSE(HasOwnSettings(netdev));
}

TEST(RocePort, OnABondHasTheSettingsOfItsMembers) {
  v1::NodeSnapshot snapshot;
  for (const char* name : {"bond0", "eth0", "eth1", "eth2"})
    snapshot.add_net_interfaces()->set_name(name);
  v1::Port& port = *snapshot.add_rdma_devices()->add_ports();
  port.set_link_layer(v1::LINK_LAYER_ETHERNET);
  port.set_netdev("bond0");
  EXPECT_THAT(NetdevsOfRocePort(snapshot, port), ElementsAre(0)) << "not known to be a bond";
  snapshot.mutable_net_interfaces(0)->mutable_bond()->add_members("eth0");
  snapshot.mutable_net_interfaces(2)->set_master("bond0");
  EXPECT_THAT(NetdevsOfRocePort(snapshot, port), ElementsAre(1, 2));
  EXPECT_TRUE(SettingsDecideRoce(snapshot, snapshot.net_interfaces(1)));
  EXPECT_FALSE(SettingsDecideRoce(snapshot, snapshot.net_interfaces(3)));
  port.set_link_layer(v1::LINK_LAYER_INFINIBAND);
  EXPECT_THAT(NetdevsOfRocePort(snapshot, port), IsEmpty());
}

std::string DscpTable() {
  std::string table = "dscp\tprio\n";
  for (int dscp = 0; dscp < 64; ++dscp) table += Format("{}\t{}\n", dscp, dscp / 8);
  return table;
}

TEST(OfedQos, TellsACapturedNodesTrustMapAndBuffers) {
  SmallNode node;
  const std::string qos = kNetdev + "/qos/";
  node.File(qos + "trust", "dscp\n").File(qos + "dscp2prio", DscpTable());
  node.File(qos + "maxrate", "0 0 0 0 0 0 0 0 \n");
  node.File(qos + "prio2buffer", "Priority\tBuffer\n0 0\n1 0\n2 0\n3 1\n4 0\n5 0\n6 0\n7 0\n");
  node.File(qos + "buffer_size",
            "Port buffer size = 262016\n0 1\n1 2\n2 0\n3 0\n4 0\n5 0\n6 0\n7 0\n");
  const v1::NodeSnapshot snapshot = node.Inspected();
  const v1::DcbConfig& dcb = snapshot.net_interfaces(0).dcb();
  EXPECT_EQ(dcb.source(), "sys/class/net/eth0/qos");
  EXPECT_EQ(dcb.trust(), v1::TRUST_DSCP);
  ASSERT_THAT(dcb.dscp_to_priority(), SizeIs(64));
  EXPECT_EQ(dcb.dscp_to_priority(26), 3u);
  EXPECT_THAT(dcb.max_rate_bps(), SizeIs(8));
  EXPECT_EQ(dcb.buffers().priority_to_buffer(3), 1u);
  EXPECT_EQ(dcb.buffers().total_bytes(), 262016u);
  EXPECT_FALSE(dcb.has_pfc()) << "only the netlink tells PFC";
  EXPECT_THAT(GapsOf(snapshot, "dcb"), SizeIs(1));
}

TEST_F(DcbNode, DcbFilesOfOfedAddWhatTheNetlinkDoesNotTell) {
  node_.fake.dcb.ieee["eth0"].max_rate_kbps = {1};
  node_.File(kNetdev + "/qos/trust", "dscp\n").File(kNetdev + "/qos/maxrate", "7\n");
  node_.File(kNetdev + "/qos/dscp2prio", DscpTable());
  const v1::DcbConfig dcb = Dcb();
  EXPECT_EQ(dcb.source(), "dcb netlink, sys/class/net/eth0/qos");
  EXPECT_EQ(dcb.trust(), v1::TRUST_DSCP);
  EXPECT_EQ(dcb.dscp_to_priority(26), 3u);
  EXPECT_EQ(dcb.max_rate_bps(0), 1000u);
}

TEST_F(DcbNode, DcbTrustInDscpWithoutAMapIsNoMapOfZeros) {
  node_.File(kNetdev + "/qos/trust", "dscp\n");
  EXPECT_EQ(Dcb().trust(), v1::TRUST_DSCP);
  EXPECT_THAT(Dcb().dscp_to_priority(), IsEmpty());
}

TEST(PfcStormPrevention, IsReadByEthtoolElseFromOfedsFile) {
  SmallNode node;
  const auto ms = [&] {
    const v1::NodeSnapshot snapshot = node.Inspected();
    EXPECT_THAT(GapsOf(snapshot, "pfc_storm_prevention"), IsEmpty());
    const v1::NetInterface& netdev = snapshot.net_interfaces(0);
    return netdev.has_pfc_storm_prevention_ms() ? std::optional(netdev.pfc_storm_prevention_ms())
                                                : std::nullopt;
  };
  EXPECT_EQ(ms(), std::nullopt);
  node.File(kNetdev + "/settings/pfc_stall_prevention", "default\n");
  EXPECT_EQ(ms(), 8000u);
  node.fake.ethtool.status = Status();
  node.fake.ethtool.drivers["eth0"] = {.driver = "mlx5_core"};
  node.fake.ethtool.pfc_storm_prevention_ms["eth0"] = 0;
  EXPECT_EQ(ms(), 0u) << "off, which is not absent";
  node.fake.ethtool.pfc_storm_prevention_ms["eth0"] = host::kPfcStormPreventionAuto;
  EXPECT_EQ(ms(), 100u);
}

TEST(GlobalPause, IsReadByEthtool) {
  SmallNode node;
  node.fake.ethtool.status = Status();
  node.fake.ethtool.pauses["eth0"] = {.autonegotiate = false, .rx = true, .tx = false};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_TRUE(snapshot.net_interfaces(0).global_pause().rx());
  EXPECT_FALSE(snapshot.net_interfaces(0).global_pause().tx());
  EXPECT_THAT(GapsOf(snapshot, "global_pause"), IsEmpty());
}

TEST(GlobalPause, WhatCannotBeReadIsAGap) {
  SmallNode node;
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.net_interfaces(0).has_global_pause());
  EXPECT_THAT(GapsOf(snapshot, "global_pause"), SizeIs(1));
}

TEST_F(DcbNode, PauseCountersKeepWhatMattersAndAddDcbs) {
  node_.fake.ethtool.status = Status();
  node_.fake.ethtool.statistics["eth0"] = {{"rx_packets", 1000},
                                           {"rx_prio3_pause", 5},
                                           {"rx_prio3_pause_duration", 77},
                                           {"tx_pause_storm_error_events", 1}};
  const v1::NodeSnapshot snapshot = node_.Inspected();
  EXPECT_EQ(FindCounter(snapshot, "rx_packets"), nullptr);
  EXPECT_EQ(FindCounter(snapshot, "rx_prio4_pause"), nullptr) << "not there is not 0";
  const v1::Counter* const duration = FindCounter(snapshot, "rx_prio3_pause_duration");
  ASSERT_NE(duration, nullptr);
  EXPECT_EQ(duration->value(), 77u);
  EXPECT_EQ(duration->unit(), "microseconds");
  EXPECT_EQ(FindCounter(snapshot, "rx_prio3_pause")->unit(), "frames");
  const v1::Counter* const sent = FindCounter(snapshot, "pfc_requests_prio3");
  ASSERT_NE(sent, nullptr);
  EXPECT_EQ(sent->value(), 11u);
  EXPECT_EQ(sent->source(), v1::COUNTER_SOURCE_DCB);
  EXPECT_EQ(FindCounter(snapshot, "pfc_indications_prio3")->value(), 22u);
  EXPECT_THAT(GapsOf(snapshot, "pause_counters"), IsEmpty());
}

}  // namespace
}  // namespace fabric::inspect
