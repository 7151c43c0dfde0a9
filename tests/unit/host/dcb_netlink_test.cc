#include "agents/host/netlink/dcb_netlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;

constexpr int kAppTrustTable = 11;  // Younger than Debian's header.

Datagram Reply(std::uint8_t command) {
  return Datagram()
      .Message(RTM_GETDCB)
      .Header(dcbmsg{.dcb_family = AF_UNSPEC, .cmd = command, .dcb_pad = 0})
      .Text(DCB_ATTR_IFNAME, "rail0");
}

ieee_pfc Pfc() {
  ieee_pfc pfc{.pfc_cap = 8, .pfc_en = 0x08, .mbc = 1, .delay = 7};
  pfc.requests[3] = 1234;
  pfc.indications[3] = 99;
  return pfc;
}

ieee_ets Ets() {
  ieee_ets ets{.willing = 1, .ets_cap = 8};
  for (std::uint8_t i = 0; i < 8; ++i) {
    ets.tc_tx_bw[i] = i;
    ets.tc_tsa[i] = IEEE_8021QAZ_TSA_VENDOR;
    ets.prio_tc[i] = static_cast<std::uint8_t>(7 - i);
  }
  return ets;
}

dcbnl_buffer Buffers() {
  return {.prio2buffer = {0, 0, 0, 1}, .buffer_size = {130944, 131072}, .total_size = 262016};
}

Datagram WholeIeee() {
  return Reply(DCB_CMD_IEEE_GET)
      .Begin(DCB_ATTR_IEEE)
      .Value(DCB_ATTR_IEEE_ETS, Ets())
      .Value(DCB_ATTR_IEEE_MAXRATE, ieee_maxrate{.tc_maxrate = {0, 25'000'000}})
      .Value(DCB_ATTR_IEEE_PFC, Pfc())
      .Begin(DCB_ATTR_IEEE_APP_TABLE)
      .Value(DCB_ATTR_IEEE_APP, dcb_app{.selector = 5, .priority = 3, .protocol = 26})
      .Value(2, dcb_app{.selector = 255, .priority = 4, .protocol = 4})
      .End()
      .Begin(kAppTrustTable)
      .U8(DCB_ATTR_IEEE_APP, 5)
      .U8(2, 255)
      .End()
      .Value(DCB_ATTR_DCB_BUFFER, Buffers())
      .Value(DCB_ATTR_IEEE_PEER_ETS, Ets())
      .Value(DCB_ATTR_IEEE_PEER_PFC, ieee_pfc{.pfc_cap = 8, .pfc_en = 0x10})
      .Begin(DCB_ATTR_IEEE_PEER_APP)
      .Value(DCB_ATTR_IEEE_APP, dcb_app{.selector = 3, .priority = 4, .protocol = 4791})
      .End()
      .End()
      .U8(DCB_ATTR_DCBX, 0x0d);
}

TEST(DcbIeee, TellsPfcWithItsCounters) {
  const auto ieee = ParseDcbIeee(WholeIeee().bytes());
  ASSERT_TRUE(ieee.ok()) << ieee.status().message();
  ASSERT_TRUE(ieee->pfc.has_value());
  EXPECT_EQ(ieee->pfc->capability, 8);
  EXPECT_EQ(ieee->pfc->enabled_mask, 0x08);
  EXPECT_TRUE(ieee->pfc->mbc);
  EXPECT_EQ(ieee->pfc->delay, 7);
  EXPECT_THAT(ieee->pfc->requests, ElementsAre(0, 0, 0, 1234, 0, 0, 0, 0));
  EXPECT_THAT(ieee->pfc->indications, ElementsAre(0, 0, 0, 99, 0, 0, 0, 0));
}

TEST(DcbIeee, TellsEts) {
  const DcbEts ets = ParseDcbIeee(WholeIeee().bytes())->ets.value();
  EXPECT_TRUE(ets.willing);
  EXPECT_EQ(ets.capability, 8);
  EXPECT_THAT(ets.tc_tx_bandwidth_percent, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(ets.tc_algorithm, ::testing::Each(255));
  EXPECT_THAT(ets.priority_to_tc, ElementsAre(7, 6, 5, 4, 3, 2, 1, 0));
}

TEST(DcbIeee, TellsApplicationsOfBothKinds) {
  const auto apps = ParseDcbIeee(WholeIeee().bytes())->app.value();
  ASSERT_EQ(apps.size(), 2u);
  EXPECT_EQ(apps[0].selector, 5);
  EXPECT_EQ(apps[0].priority, 3);
  EXPECT_EQ(apps[0].protocol, 26);
  EXPECT_EQ(apps[1].selector, 255);
}

TEST(DcbIeee, TellsBuffersRateLimitsAndTrust) {
  const DcbIeee ieee = *ParseDcbIeee(WholeIeee().bytes());
  EXPECT_THAT(ieee.buffers->priority_to_buffer, ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
  EXPECT_THAT(ieee.buffers->size_bytes, ElementsAre(130944, 131072, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(ieee.buffers->total_bytes, 262016u);
  EXPECT_THAT(*ieee.max_rate_kbps, ElementsAre(0, 25'000'000, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(*ieee.app_trust, ElementsAre(5, 255));
}

TEST(DcbIeee, TellsWhatThePeerAnnounced) {
  const DcbIeee ieee = *ParseDcbIeee(WholeIeee().bytes());
  EXPECT_EQ(ieee.peer_pfc->enabled_mask, 0x10);
  EXPECT_TRUE(ieee.peer_ets->willing);
  ASSERT_EQ(ieee.peer_app->size(), 1u);
  EXPECT_EQ(ieee.peer_app->at(0).protocol, 4791);
  EXPECT_EQ(ieee.pfc->enabled_mask, 0x08) << "not mixed up with the peer's";
}

TEST(DcbIeee, TellsTheDcbxModeInTheSameAnswer) {
  EXPECT_EQ(ParseDcbIeee(WholeIeee().bytes())->dcbx, 0x0d);
  EXPECT_FALSE(ParseDcbIeee(Reply(DCB_CMD_IEEE_GET).bytes())->dcbx.has_value());
  EXPECT_EQ(ParseDcbIeee(Reply(DCB_CMD_IEEE_GET).U32(DCB_ATTR_DCBX, 0x0d).bytes()).status(),
            Status(Code::kInvalidArgument, "netlink: DCBX mode: expected 1 bytes, saw 4"));
}

TEST(DcbIeee, KeepsAbsentApartFromEmpty) {
  const Datagram empty = Reply(DCB_CMD_IEEE_GET).Begin(DCB_ATTR_IEEE).End();
  const DcbIeee ieee = *ParseDcbIeee(empty.bytes());
  EXPECT_FALSE(ieee.pfc || ieee.ets || ieee.app || ieee.max_rate_kbps || ieee.buffers);
  EXPECT_FALSE(ieee.app_trust || ieee.peer_pfc || ieee.peer_ets || ieee.peer_app);
  const Datagram no_apps =
      Reply(DCB_CMD_IEEE_GET).Begin(DCB_ATTR_IEEE).Begin(DCB_ATTR_IEEE_APP_TABLE).End().End();
  EXPECT_TRUE(ParseDcbIeee(no_apps.bytes())->app->empty());
}

TEST(DcbIeee, OfShortStructuresIsRefused) {
  const auto with = [](int type, std::size_t size) {
    const std::array<char, 256> zeros{};
    return ParseDcbIeee(Reply(DCB_CMD_IEEE_GET)
                            .Begin(DCB_ATTR_IEEE)
                            .Attribute(type, zeros.data(), size)
                            .End()
                            .bytes())
        .status()
        .code();
  };
  EXPECT_EQ(with(DCB_ATTR_IEEE_PFC, sizeof(ieee_pfc) - 1), Code::kInvalidArgument);
  EXPECT_EQ(with(DCB_ATTR_IEEE_ETS, sizeof(ieee_ets) - 1), Code::kInvalidArgument);
  EXPECT_EQ(with(DCB_ATTR_IEEE_PFC, 0), Code::kInvalidArgument);
  EXPECT_EQ(with(DCB_ATTR_IEEE_PFC, sizeof(ieee_pfc) + 8), Code::kOk);  // Grown since
  EXPECT_EQ(with(DCB_ATTR_IEEE_APP_TABLE, 3), Code::kInvalidArgument);
  EXPECT_EQ(with(DCB_ATTR_IEEE_MAXRATE, sizeof(ieee_maxrate) - 1), Code::kInvalidArgument);
  EXPECT_EQ(with(DCB_ATTR_DCB_BUFFER, sizeof(dcbnl_buffer) - 1), Code::kInvalidArgument);
  EXPECT_EQ(with(DCB_ATTR_IEEE_PEER_PFC, sizeof(ieee_pfc) - 1), Code::kInvalidArgument);
}

TEST(DcbIeee, CutAnywhereIsRefused) {
  const Datagram whole = WholeIeee();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(ParseDcbIeee(whole.First(size)).status().code(), Code::kInvalidArgument) << size;
}

TEST(DcbIeee, CarriesTheKernelsRefusal) {
  EXPECT_EQ(ParseDcbIeee(Datagram().Error(-EOPNOTSUPP).bytes()).status().code(),
            Code::kUnimplemented);
  EXPECT_EQ(ParseDcbIeee(Datagram().Error(-ENODEV).bytes()).status().code(), Code::kNotFound);
  EXPECT_EQ(ParseDcbIeee(Reply(DCB_CMD_GDCBX).bytes()).status().code(), Code::kInvalidArgument);
}

Datagram WholeCee() {
  return Reply(DCB_CMD_CEE_GET)
      .Begin(DCB_ATTR_CEE)
      .Begin(DCB_ATTR_CEE_PFC)
      .U8(DCB_PFC_UP_ATTR_0, 0)
      .U8(DCB_PFC_UP_ATTR_3, 1)
      .U8(DCB_PFC_UP_ATTR_4, 2)
      .End()
      .Begin(DCB_ATTR_CEE_APP_TABLE)
      .Value(DCB_ATTR_CEE_APP, dcb_app{.selector = 0, .priority = 0x08, .protocol = 0x8915})
      .Value(DCB_ATTR_CEE_APP, dcb_app{.selector = 1, .priority = 0x18, .protocol = 4791})
      .Value(DCB_ATTR_CEE_APP, dcb_app{.selector = 2, .priority = 0x01, .protocol = 1})
      .End()
      .End();
}

TEST(DcbCee, TellsPfcAsAMask) {
  EXPECT_EQ(ParseDcbCee(WholeCee().bytes())->pfc_enabled_mask, 0x18);
  const Datagram none = Reply(DCB_CMD_CEE_GET).Begin(DCB_ATTR_CEE).End();
  EXPECT_FALSE(ParseDcbCee(none.bytes())->pfc_enabled_mask.has_value());
}

TEST(DcbCee, TellsApplicationsWithSelectorsOfIeee) {
  const auto apps = ParseDcbCee(WholeCee().bytes())->app.value();
  ASSERT_EQ(apps.size(), 3u) << "one for each priority of the mask; unknown selectors left out";
  EXPECT_EQ(apps[0].selector, IEEE_8021QAZ_APP_SEL_ETHERTYPE);
  EXPECT_EQ(apps[0].priority, 3);
  EXPECT_EQ(apps[2].selector, IEEE_8021QAZ_APP_SEL_ANY);
  EXPECT_EQ(apps[2].priority, 4);
  EXPECT_EQ(apps[2].protocol, 4791);
}

TEST(DcbCee, CutAnywhereIsRefused) {
  const Datagram whole = WholeCee();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(ParseDcbCee(whole.First(size)).status().code(), Code::kInvalidArgument) << size;
}

TEST(LiveDcbNetlink, AsksAsTheKernelExpects) {
  FakeKernel kernel;
  kernel.Answer(WholeIeee());
  EXPECT_TRUE(OpenDcbNetlink(kernel.Client())->Ieee("rail0").ok());
  const Datagram expected =
      Datagram()
          .Message(RTM_GETDCB, NLM_F_REQUEST, 1)
          .Header(dcbmsg{.dcb_family = AF_UNSPEC, .cmd = DCB_CMD_IEEE_GET, .dcb_pad = 0})
          .Text(DCB_ATTR_IFNAME, "rail0");
  EXPECT_THAT(kernel.Question(), ::testing::ElementsAreArray(expected.bytes()));
}

TEST(LiveDcbNetlink, NamesTheNetdevInErrors) {
  FakeKernel kernel;
  kernel.Answer(Datagram().Error(-EOPNOTSUPP));
  EXPECT_EQ(OpenDcbNetlink(kernel.Client())->Cee("rail0").status(),
            Status(Code::kUnimplemented,
                   "asking for DCB of rail0: the kernel answered: Operation not supported"));
}

TEST(LiveDcbNetlink, KnowsNoNetdevOfAnImpossibleName) {
  const auto dcb = OpenDcbNetlink();
  EXPECT_EQ(dcb->Ieee("").status().code(), Code::kNotFound);
  EXPECT_EQ(dcb->Ieee("sixteen-letters-").status().code(), Code::kNotFound);
}

TEST(LiveDcbNetlink, LoopbackHasNoDcb) {
  const auto dcb = OpenDcbNetlink();
  EXPECT_EQ(dcb->Ieee("lo").status().code(), Code::kUnimplemented);
  EXPECT_EQ(dcb->Cee("lo").status().code(), Code::kUnimplemented);
}

TEST(LiveDcbNetlink, UnknownNetdevIsNotFound) {
  const Status status = OpenDcbNetlink()->Ieee("no-such0").status();
  if (status.code() == Code::kUnimplemented) GTEST_SKIP() << "this kernel has no CONFIG_DCB";
  EXPECT_EQ(status.code(), Code::kNotFound) << status.message();
}

TEST(NoDcbNetlink, RefusesEverything) {
  EXPECT_EQ(NoDcbNetlink()->Ieee("rail0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(NoDcbNetlink()->Cee("rail0").status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace fabric::host
