#include "agents/host/netlink/rdma_netlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <array>

#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;

constexpr int kGet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET);
constexpr int kPortGet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_PORT_GET);
constexpr int kStatGet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_STAT_GET);

Datagram& AddDevice(Datagram& datagram, std::uint32_t index, std::string_view name) {
  return datagram.Message(kGet, NLM_F_MULTI)
      .U32(RDMA_NLDEV_ATTR_DEV_INDEX, index)
      .Text(RDMA_NLDEV_ATTR_DEV_NAME, name)
      .U32(RDMA_NLDEV_ATTR_PORT_INDEX, 1)
      .U64(RDMA_NLDEV_ATTR_CAP_FLAGS, 0x1234)
      .Text(RDMA_NLDEV_ATTR_FW_VERSION, "28.41.1000")
      .U64(RDMA_NLDEV_ATTR_NODE_GUID, 0x0c42a10300651f2e)
      .U64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, 0x0c42a10300651f2f)
      .U8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 1)
      .Text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce")
      .U8(84, 1);
}

Datagram& AddCounter(Datagram& datagram, std::string_view name, std::uint64_t value) {
  return datagram.Begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY)
      .Text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name)
      .U64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value)
      .End();
}

Datagram Counters(std::uint32_t sequence = 1) {
  Datagram datagram;
  datagram.Message(kStatGet, 0, sequence)
      .U32(RDMA_NLDEV_ATTR_DEV_INDEX, 0)
      .U32(RDMA_NLDEV_ATTR_PORT_INDEX, 1)
      .Begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  AddCounter(datagram, "out_of_sequence", 7);
  AddCounter(datagram, "np_cnp_sent", ~std::uint64_t{0});
  return datagram.End();
}

TEST(RdmaDevices, ComeInMultiPartAnswers) {
  Datagram datagram;
  AddDevice(datagram, 0, "mlx5_0");
  AddDevice(datagram, 3, "mlx5_1").Done();
  const auto devices = ParseRdmaDevices(datagram.bytes());
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  ASSERT_EQ(devices->size(), 2u);
  const RdmaDeviceInfo& device = (*devices)[1];
  EXPECT_EQ(device.index, 3u);
  EXPECT_EQ(device.name, "mlx5_1");
  EXPECT_EQ(device.ports, 1u);
  EXPECT_EQ(device.firmware, "28.41.1000");
  EXPECT_EQ(device.node_guid, 0x0c42a10300651f2eu);
  EXPECT_EQ(device.sys_image_guid, 0x0c42a10300651f2fu);
  EXPECT_EQ(device.node_type, 1);
  EXPECT_EQ(device.protocol, "roce");
}

TEST(RdmaDevices, LeaveOutWhatTheKernelLeftOut) {
  const Datagram datagram = Datagram()
                                .Message(kGet)
                                .U32(RDMA_NLDEV_ATTR_DEV_INDEX, 0)
                                .Text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0")
                                .Text(RDMA_NLDEV_ATTR_FW_VERSION, "")
                                .Text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "\xff\xfe");
  const RdmaDeviceInfo device = ParseRdmaDevices(datagram.bytes())->at(0);
  EXPECT_EQ(device.firmware, std::nullopt);
  EXPECT_EQ(device.node_guid, std::nullopt);
  EXPECT_EQ(device.node_type, std::nullopt);
  EXPECT_EQ(device.protocol, std::nullopt);
}

TEST(RdmaDevices, NeedIndexAndName) {
  EXPECT_TRUE(ParseRdmaDevices(Datagram().Done().bytes())->empty());
  for (const Datagram& bad :
       {Datagram().Message(kGet), Datagram().Message(kGet).U32(RDMA_NLDEV_ATTR_DEV_INDEX, 0),
        Datagram().Message(kGet).Text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0")})
    EXPECT_EQ(ParseRdmaDevices(bad.bytes()).status().code(), Code::kInvalidArgument);
}

TEST(RdmaDevices, OfWrongSizesAreRefused) {
  Datagram datagram;
  AddDevice(datagram, 0, "mlx5_0").U32(RDMA_NLDEV_ATTR_NODE_GUID, 1);
  EXPECT_EQ(ParseRdmaDevices(datagram.bytes()).status(),
            Status(Code::kInvalidArgument, "netlink: node GUID: expected 8 bytes, saw 4"));
}

TEST(RdmaDevices, CutAnywhereAreRefused) {
  Datagram datagram;
  AddDevice(datagram, 0, "mlx5_0");
  for (std::size_t size = 1; size < datagram.size(); ++size)
    EXPECT_EQ(ParseRdmaDevices(datagram.First(size)).status().code(), Code::kInvalidArgument);
}

TEST(RdmaLinks, TellStateAndNetdev) {
  const Datagram datagram = Datagram()
                                .Message(kPortGet, NLM_F_MULTI)
                                .U32(RDMA_NLDEV_ATTR_DEV_INDEX, 0)
                                .Text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0")
                                .U32(RDMA_NLDEV_ATTR_PORT_INDEX, 1)
                                .U8(RDMA_NLDEV_ATTR_PORT_STATE, 4)
                                .U8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE, 5)
                                .U32(RDMA_NLDEV_ATTR_NDEV_INDEX, 3)
                                .Text(RDMA_NLDEV_ATTR_NDEV_NAME, "rail0")
                                .Done();
  const RdmaLinkInfo link = ParseRdmaLinks(datagram.bytes())->at(0);
  EXPECT_EQ(link.port, 1u);
  EXPECT_EQ(link.state, 4);
  EXPECT_EQ(link.physical_state, 5);
  EXPECT_EQ(link.netdev_index, 3u);
  EXPECT_EQ(link.netdev_name, "rail0");
  EXPECT_EQ(link.lid, std::nullopt);  // RoCE has none, which is not 0.
}

TEST(RdmaLinks, OfInfiniBandTellLids) {
  const Datagram datagram = Datagram()
                                .Message(kPortGet)
                                .U32(RDMA_NLDEV_ATTR_PORT_INDEX, 2)
                                .U64(RDMA_NLDEV_ATTR_CAP_FLAGS, 0x2651e84a)
                                .U64(RDMA_NLDEV_ATTR_SUBNET_PREFIX, 0xfe80000000000000)
                                .U32(RDMA_NLDEV_ATTR_LID, 0x2f)
                                .U32(RDMA_NLDEV_ATTR_SM_LID, 1)
                                .U8(RDMA_NLDEV_ATTR_LMC, 0);
  const RdmaLinkInfo link = ParseRdmaLinks(datagram.bytes())->at(0);
  EXPECT_EQ(link.port, 2u);
  EXPECT_EQ(link.capability_flags, 0x2651e84au);
  EXPECT_EQ(link.subnet_prefix, 0xfe80000000000000u);
  EXPECT_EQ(link.lid, 0x2fu);
  EXPECT_EQ(link.sm_lid, 1u);
  EXPECT_EQ(link.lmc, 0);
}

TEST(RdmaLinks, NeedAPort) {
  EXPECT_EQ(ParseRdmaLinks(Datagram().Message(kPortGet).bytes()).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(ParseRdmaLinks(Datagram().Error(-EINVAL).bytes()).status().code(),
            Code::kUnimplemented);
}

TEST(RdmaCounters, KeepOrderAndFullWidth) {
  const auto counters = ParseRdmaCounters(Counters().bytes());
  ASSERT_TRUE(counters.ok()) << counters.status().message();
  ASSERT_EQ(counters->size(), 2u);
  EXPECT_EQ((*counters)[0].name, "out_of_sequence");
  EXPECT_EQ((*counters)[0].value, 7u);
  EXPECT_EQ((*counters)[1].value, ~std::uint64_t{0});
}

TEST(RdmaCounters, WithoutNameValueOrTableAreRefused) {
  const auto entry = [](const auto& fill) {
    Datagram datagram;
    datagram.Message(kStatGet)
        .Begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
        .Begin(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    fill(datagram);
    return ParseRdmaCounters(datagram.End().End().bytes()).status().code();
  };
  const auto name = [](Datagram& d) { d.Text(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "x"); };
  const auto value = [](Datagram& d) { d.U64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, 1); };
  EXPECT_EQ(entry(name), Code::kInvalidArgument);
  EXPECT_EQ(entry(value), Code::kInvalidArgument);
  EXPECT_EQ(entry([&](Datagram& d) { name(d), value(d); }), Code::kOk);
  EXPECT_EQ(ParseRdmaCounters(Datagram().Message(kStatGet).bytes()).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(ParseRdmaCounters({}).status().code(), Code::kInvalidArgument);
}

TEST(RdmaCounters, OfNestedLiesAreRefused) {
  const Datagram honest = Counters();
  const std::size_t table = 16 + 8 + 8;
  for (const std::uint16_t length : std::to_array<std::uint16_t>({0, 3, 5, 9, 0xffff})) {
    Datagram lie = honest;
    EXPECT_FALSE(ParseRdmaCounters(lie.Patch(table, length).bytes()).ok()) << length;
    lie = honest;
    EXPECT_FALSE(ParseRdmaCounters(lie.Patch(table + 4, length).bytes()).ok()) << length;
  }
}

TEST(LiveRdmaNetlink, AsksAsTheKernelExpects) {
  FakeKernel kernel;
  kernel.Answer(Counters());
  const auto rdma = OpenRdmaNetlink(kernel.Client());
  EXPECT_EQ(rdma->Counters(4, 1)->size(), 2u);
  const Datagram expected = Datagram()
                                .Message(kStatGet, NLM_F_REQUEST, 1)
                                .U32(RDMA_NLDEV_ATTR_DEV_INDEX, 4)
                                .U32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
  EXPECT_THAT(kernel.Question(), ::testing::ElementsAreArray(expected.bytes()));
}

TEST(LiveRdmaNetlink, JoinsTheDatagramsOfADump) {
  FakeKernel kernel;
  Datagram first;
  Datagram second;
  kernel.Answer(AddDevice(first, 0, "mlx5_0")).Answer(AddDevice(second, 1, "mlx5_1").Done());
  const auto devices = OpenRdmaNetlink(kernel.Client())->Devices();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  EXPECT_EQ(devices->at(0).name + devices->at(1).name, "mlx5_0mlx5_1");
}

TEST(LiveRdmaNetlink, SaysWhatItWasDoing) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Error(-ENODEV));
  EXPECT_EQ(OpenRdmaNetlink(kernel.Client())->Links(9).status(),
            Status(Code::kNotFound, "listing RDMA links: the kernel answered: No such device"));
}

TEST(LiveRdmaNetlink, ListsTheDevicesOfThisMachine) {
  const auto rdma = OpenRdmaNetlink();
  const auto devices = rdma->Devices();
  if (devices.status().code() == Code::kUnimplemented) GTEST_SKIP() << devices.status().message();
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  for (const RdmaDeviceInfo& device : *devices) {
    const auto links = rdma->Links(device.index);
    ASSERT_TRUE(links.ok()) << links.status().message();
    EXPECT_EQ(links->size(), device.ports) << device.name;
  }
}

TEST(NoRdmaNetlink, RefusesEverything) {
  const auto rdma = NoRdmaNetlink();
  EXPECT_EQ(rdma->Devices().status().code(), Code::kUnimplemented);
  EXPECT_EQ(rdma->Links(0).status().code(), Code::kUnimplemented);
  EXPECT_EQ(rdma->Counters(0, 1).status().code(), Code::kUnimplemented);
}

constexpr int kSysGet = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_SYS_GET);

TEST(RdmaSystem, TellsTheNamespaceMode) {
  Datagram shared;
  shared.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
  EXPECT_EQ(ParseRdmaSystem(shared.bytes())->netns_shared, true);
  Datagram exclusive;
  exclusive.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
  EXPECT_EQ(ParseRdmaSystem(exclusive.bytes())->netns_shared, false);
}

TEST(RdmaSystem, NeedNotTellIt) {
  Datagram silent;
  silent.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
  EXPECT_EQ(ParseRdmaSystem(silent.bytes())->netns_shared, std::nullopt);
  Datagram odd;
  odd.Message(kSysGet).U8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 2);
  EXPECT_EQ(ParseRdmaSystem(odd.bytes()).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace fabric::host
