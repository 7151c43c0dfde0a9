#include "agents/host/netlink/ethtool_netlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <array>
#include <cerrno>

#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr int kFamily = 0x15;

Datagram FamilyReply(std::uint32_t sequence = 1) {
  const auto family = static_cast<std::uint16_t>(kFamily);
  return Datagram()
      .Message(GENL_ID_CTRL, 0, sequence)
      .Header(genlmsghdr{.cmd = CTRL_CMD_NEWFAMILY, .version = 1, .reserved = 0})
      .Text(CTRL_ATTR_FAMILY_NAME, "ethtool")
      .Value(CTRL_ATTR_FAMILY_ID, family);
}

Datagram FecReply(std::uint32_t sequence = 1) {
  const std::array<std::uint64_t, 3> corrected = {700, 300, 400};
  const std::array<std::uint64_t, 1> uncorrectable = {2};
  return Datagram()
      .Message(kFamily, 0, sequence)
      .Header(genlmsghdr{.cmd = ETHTOOL_MSG_FEC_GET_REPLY, .version = 1, .reserved = 0})
      .Begin(ETHTOOL_A_FEC_STATS)
      .Value(ETHTOOL_A_FEC_STAT_CORRECTED, corrected)
      .Value(ETHTOOL_A_FEC_STAT_UNCORR, uncorrectable)
      .Attribute(ETHTOOL_A_FEC_STAT_CORR_BITS, nullptr, 0)
      .End();
}

Datagram ModuleReply(std::uint32_t sequence = 1) {
  const std::array<std::uint8_t, 4> data = {0x11, 7, 0, 255};
  return Datagram()
      .Message(kFamily, 0, sequence)
      .Header(genlmsghdr{.cmd = ETHTOOL_MSG_MODULE_EEPROM_GET_REPLY, .version = 1, .reserved = 0})
      .Value(ETHTOOL_A_MODULE_EEPROM_DATA, data);
}

TEST(EthtoolNetlink, TakesTheTotalsThatTheDriverCounts) {
  const auto counters = ParseFecStatistics(FecReply().bytes(), kFamily);
  ASSERT_TRUE(counters.ok()) << counters.status().message();
  ASSERT_THAT(*counters, SizeIs(2));
  EXPECT_EQ((*counters)[0].name, "corrected_blocks");
  EXPECT_EQ((*counters)[0].value, 700U);
  EXPECT_EQ((*counters)[1].name, "uncorrectable_blocks");
  EXPECT_EQ((*counters)[1].value, 2U);
}

TEST(EthtoolNetlink, ADriverWithoutStatisticsHasNone) {
  const Datagram reply = Datagram()
                             .Message(kFamily)
                             .Header(genlmsghdr{.cmd = ETHTOOL_MSG_FEC_GET_REPLY})
                             .Begin(ETHTOOL_A_FEC_STATS)
                             .End();
  EXPECT_EQ(ParseFecStatistics(reply.bytes(), kFamily).status().code(), Code::kUnimplemented);
}

TEST(EthtoolNetlink, RejectsTruncatedReplies) {
  for (const Datagram& whole : {FecReply(), ModuleReply(), FamilyReply()})
    for (std::size_t size = 1; size + 4 < whole.size(); size += 3) {
      EXPECT_FALSE(ParseFecStatistics(whole.First(size), kFamily).ok()) << size;
      EXPECT_FALSE(ParseModuleEeprom(whole.First(size), kFamily).ok()) << size;
      EXPECT_FALSE(ParseFamily(whole.First(size)).ok()) << size;
    }
}

TEST(EthtoolNetlink, LooksUpTheFamilyOnce) {
  FakeKernel kernel;
  kernel.Answer(FamilyReply()).Answer(FecReply(2)).Answer(ModuleReply(3));
  EthtoolNetlink netlink(kernel.Client());
  EXPECT_THAT(*netlink.FecStatistics("eth0"), SizeIs(2));
  EXPECT_THAT(*netlink.ModuleEeprom("eth0", {.page = 3, .offset = 128}),
              ElementsAre(0x11, 7, 0, 255));
}

TEST(EthtoolNetlink, AKernelWithoutItIsUnimplemented) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Error(-ENOENT));
  EthtoolNetlink netlink(kernel.Client());
  EXPECT_EQ(netlink.FecStatistics("eth0").status().code(), Code::kUnimplemented);
}

TEST(EthtoolNetlink, TheEepromNeedsAPermission) {
  FakeKernel kernel;
  kernel.Answer(FamilyReply()).Answer(Datagram().Error(-EPERM, 2));
  EthtoolNetlink netlink(kernel.Client());
  const Status status = netlink.ModuleEeprom("eth0", {}).status();
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("module of eth0"));
}

}  // namespace
}  // namespace fabric::host
