// The inspectors dcb, global_pause and pause_counters.
#include <gmock/gmock.h>

#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

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
  return ieee;
}

class DcbNode : public ::testing::Test {
 protected:
  DcbNode() {
    node_.fake.dcb.status = Status();
    node_.fake.dcb.ieee["eth0"] = Lossless(0x08);
    node_.fake.dcb.dcbx["eth0"] = kHostIeeeCee;
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
  EXPECT_THAT(GapsOf(snapshot, "dcb"), SizeIs(1));
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
