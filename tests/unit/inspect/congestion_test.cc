// The inspectors congestion_control and roce_defaults.
#include <gmock/gmock.h>

#include <filesystem>

#include "base/text.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kEcn = kNetdev + "/ecn/";
const std::string kDebug = "sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/";
const std::string kConfigBnxt = "sys/kernel/config/bnxt_re/mlx5_0/ports/1/cc/";
const std::string kRdmaCm = "sys/kernel/config/rdma_cm/mlx5_0/ports/1/";
const std::string kCongestionDevice = kCard + "/infiniband/mlx5_0/";

class Congestion : public ::testing::Test {
 protected:
  void EnableOfed() {
    for (int priority = 0; priority < 8; ++priority) {
      node_.File(Format("{}roce_np/enable/{}", kEcn, priority), "1\n");
      node_.File(Format("{}roce_rp/enable/{}", kEcn, priority), priority == 3 ? "1\n" : "0\n");
    }
    node_.File(kEcn + "roce_np/cnp_dscp", "48\n").File(kEcn + "roce_np/cnp_802p_prio", "6\n");
    node_.File(kEcn + "roce_np/min_time_between_cnps", "4\n");
    node_.File(kEcn + "roce_rp/rpg_ai_rate", "5\n").File(kEcn + "roce_rp/rpg_gd", "11\n");
  }

  void SetDriver(const std::string& driver) {
    node_.Remove(kCard + "/driver");
    node_.tree.Link(kCard + "/driver", "../../../bus/pci/drivers/" + driver);
  }

  const v1::CongestionControl& Settings() {
    snapshot_ = node_.Inspected();
    return snapshot_.net_interfaces(0).congestion_control();
  }

  std::vector<std::string> GapsSeen() { return GapsOf(snapshot_, "congestion_control"); }

  SmallNode node_;
  v1::NodeSnapshot snapshot_;
};

TEST_F(Congestion, OfMlnxOfedIsReadByPriority) {
  EnableOfed();
  const v1::CongestionControl settings = Settings();
  EXPECT_EQ(settings.source(), "sys/class/net/eth0/ecn");
  EXPECT_THAT(settings.notification_point_enabled(), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
  EXPECT_THAT(settings.reaction_point_enabled(), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_EQ(settings.cnp_dscp(), 48u);
  EXPECT_EQ(settings.cnp_priority(), 6u);
  EXPECT_EQ(settings.min_time_between_cnps_us(), 4u);
  ASSERT_THAT(settings.parameters(), SizeIs(2));
  EXPECT_EQ(settings.parameters(0).name(), "rpg_ai_rate");
  EXPECT_EQ(settings.parameters(0).unit(), "Mbit/s");
  EXPECT_EQ(settings.parameters(1).unit(), "");
  EXPECT_THAT(GapsSeen(), IsEmpty());
}

TEST_F(Congestion, FilesThatTheFirmwareLeavesEmptyAreOneGap) {
  EnableOfed();
  node_.File(kEcn + "roce_rp/enable/0", "").File(kEcn + "roce_rp/rpg_gd", "");
  EXPECT_THAT(Settings().reaction_point_enabled(), IsEmpty()) << "all priorities or none";
  EXPECT_THAT(GapsSeen(),
              ElementsAre("eth0 sys/class/net/eth0/ecn/roce_rp/enable/0: UNIMPLEMENTED the file is "
                          "empty (and 1 more)"));
}

TEST_F(Congestion, ParametersAreCompleteOrAbsent) {
  EnableOfed();
  node_.File(kEcn + "roce_rp/rpg_gd", "broken\n");
  EXPECT_THAT(Settings().parameters(), IsEmpty());
  EXPECT_THAT(GapsSeen(), SizeIs(1));
}

TEST_F(Congestion, OfTheKernelsDriverIsReadFromDebugfs) {
  node_.File(kDebug + "np_cnp_dscp", "48\n").File(kDebug + "np_cnp_prio", "6\n");
  node_.File(kDebug + "np_min_time_between_cnps", "4\n").File(kDebug + "rp_ai_rate", "5\n");
  const v1::CongestionControl settings = Settings();
  EXPECT_EQ(settings.source(), "sys/kernel/debug/mlx5/0000:3b:00.0/cc_params");
  EXPECT_TRUE(settings.in_debugfs());
  EXPECT_EQ(settings.cnp_dscp(), 48u);
  EXPECT_EQ(settings.cnp_priority(), 6u);
  EXPECT_THAT(settings.notification_point_enabled(), IsEmpty()) << "debugfs does not tell";
  ASSERT_THAT(settings.parameters(), SizeIs(1));
  EXPECT_EQ(settings.parameters(0).unit(), "Mbit/s");
  EXPECT_THAT(GapsSeen(), IsEmpty());
}

TEST_F(Congestion, DebugfsThatIsRootsIsOneGapOfTheNode) {
  node_.File(kDebug + "np_cnp_dscp", "48\n");
  const std::filesystem::path debugfs = node_.tree.path() + "/sys/kernel/debug";
  std::filesystem::permissions(debugfs, std::filesystem::perms::none);
  const bool had = Settings().has_cnp_dscp();
  std::filesystem::permissions(debugfs, std::filesystem::perms::owner_all);
  if (had) GTEST_SKIP() << "run by root, whom no file refuses";
  EXPECT_THAT(GapsSeen(),
              ElementsAre(" sys/kernel/debug/mlx5: PERMISSION_DENIED root's: the capability "
                          "CAP_DAC_READ_SEARCH is missing (settings of eth0)"));
}

TEST_F(Congestion, WhatNothingTellsIsOneGapOfTheNode) {
  EXPECT_FALSE(Settings().has_cnp_dscp());
  EXPECT_THAT(GapsSeen(), ElementsAre(" sys/kernel/debug/mlx5: NOT_FOUND neither this nor "
                                      "MLNX_OFED's ecn/ exists (settings of eth0)"));
}

TEST_F(Congestion, OfADriverWithoutAnyIsNoGap) {
  SetDriver("hns3");
  EXPECT_EQ(Settings().source(), "");
  EXPECT_THAT(GapsSeen(), IsEmpty());
}

TEST_F(Congestion, OfSoftRoceOnACardIsNotTheCards) {
  node_.Remove(kCongestionDevice + "device").File(kCongestionDevice + "parent", "eth0\n");
  EXPECT_EQ(Settings().source(), "");
  EXPECT_THAT(GapsSeen(), IsEmpty());
}

TEST_F(Congestion, OfBroadcomIsReadFromConfigfsOnceItIsMade) {
  SetDriver("bnxt_en");
  Settings();
  ASSERT_THAT(GapsSeen(), SizeIs(1));
  node_.File(kConfigBnxt + "ecn_enable", "0x1\n").File(kConfigBnxt + "cc_mode", "0x1\n");
  node_.File(kConfigBnxt + "cnp_dscp", "0x30\n").File(kConfigBnxt + "cnp_prio", "0x7\n");
  node_.File(kConfigBnxt + "roce_dscp", "0x1a\n").File(kConfigBnxt + "roce_prio", "0x3\n");
  node_.File(kConfigBnxt + "apply", "ecn status : Enabled\n");
  node_.File("sys/kernel/debug/bnxt_re/mlx5_0/info", "\tfw_service_prof_type_sup : 1\n");
  const v1::CongestionControl settings = Settings();
  EXPECT_TRUE(settings.ecn_enabled());
  EXPECT_EQ(settings.mode(), "dcqcn-p");
  EXPECT_EQ(settings.cnp_dscp(), 48u);
  EXPECT_EQ(settings.roce_dscp(), 26u);
  EXPECT_EQ(settings.roce_priority(), 3u);
  ASSERT_THAT(settings.parameters(), SizeIs(2));
  EXPECT_EQ(settings.parameters(1).name(), "fw_service_prof_type_sup");
  EXPECT_THAT(GapsSeen(), IsEmpty());
}

TEST_F(Congestion, OfIntelIsReadFromTheParametersOfTheModule) {
  SetDriver("ice");
  node_.File("sys/module/irdma/parameters/dcqcn_enable", "Y\n");
  node_.File("sys/module/irdma/parameters/dcqcn_T", "55\n");
  const v1::CongestionControl settings = Settings();
  EXPECT_TRUE(settings.ecn_enabled());
  EXPECT_EQ(settings.mode(), "dcqcn");
  ASSERT_THAT(settings.parameters(), SizeIs(2));
  EXPECT_EQ(settings.parameters(0).unit(), "microseconds");
}

TEST_F(Congestion, OfIntelIsTheDevicesOwnWhereThereIsOne) {
  SetDriver("ice");
  node_.File("sys/module/irdma/parameters/dcqcn_enable", "Y\n");
  node_.File("sys/kernel/config/irdma/mlx5_0/roce_dcqcn_enable", "0\n");
  EXPECT_FALSE(Settings().ecn_enabled());
  EXPECT_FALSE(Settings().has_mode());
}

TEST_F(Congestion, OfIntelsOwnKernelDriverIsAGap) {
  SetDriver("ice");
  node_.File("sys/module/irdma/refcnt", "1\n");
  Settings();
  EXPECT_THAT(GapsSeen(), ElementsAre(" sys/module/irdma/parameters: UNIMPLEMENTED only the "
                                      "out-of-tree driver reports it (settings of eth0)"));
}

v1::RoceDefaults Defaults(SmallNode& node) {
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_THAT(GapsOf(snapshot, "roce_defaults"), IsEmpty());
  return snapshot.rdma_devices(0).ports(0).roce_defaults();
}

TEST(RoceDefaults, OfTheDriverAreRead) {
  SmallNode node;
  node.File(kCongestionDevice + "tc/1/traffic_class", "Global tclass=106\n");
  node.File(kCongestionDevice + "ttl/1/ttl", "64\n");
  EXPECT_EQ(Defaults(node).traffic_class(), 106u);
  EXPECT_EQ(Defaults(node).ttl(), 64u);
}

TEST(RoceDefaults, NotSetAreAbsentAndNoGap) {
  SmallNode node;
  EXPECT_FALSE(node.Inspected().rdma_devices(0).ports(0).has_roce_defaults());
  node.File(kCongestionDevice + "tc/1/traffic_class", "")
      .File(kCongestionDevice + "ttl/1/ttl", "0\n");
  const v1::RoceDefaults defaults = Defaults(node);
  EXPECT_FALSE(defaults.has_traffic_class());
  EXPECT_FALSE(defaults.has_ttl());
  EXPECT_TRUE(node.Inspected().rdma_devices(0).ports(0).has_roce_defaults());
}

TEST(RoceDefaults, OfTheConnectionManagerAreReadWhereSomebodyMadeTheDirectory) {
  SmallNode node;
  node.File(kRdmaCm + "default_roce_tos", "106\n");
  node.File(kRdmaCm + "default_roce_mode", "RoCE v2\n");
  EXPECT_EQ(Defaults(node).rdma_cm_tos(), 106u);
  EXPECT_EQ(Defaults(node).rdma_cm_mode(), "RoCE v2");
}

TEST(RoceDefaults, InAWrongFormatAreAGap) {
  SmallNode node;
  node.File(kCongestionDevice + "tc/1/traffic_class", "N/A\n");
  EXPECT_THAT(GapsOf(node.Inspected(), "roce_defaults"),
              ElementsAre("mlx5_0/1 sys/class/infiniband/mlx5_0/tc/1/traffic_class: "
                          "INVALID_ARGUMENT expected a traffic class up to 255, saw 'N/A'"));
}

}  // namespace
}  // namespace fabric::inspect
