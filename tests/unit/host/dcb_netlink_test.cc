#include "agents/host/dcb_netlink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>

#include "tests/unit/host/datagram.h"
#include "tests/unit/host/fake_kernel.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;

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

Datagram WholeIeee() {
  return Reply(DCB_CMD_IEEE_GET)
      .Begin(DCB_ATTR_IEEE)
      .Value(DCB_ATTR_IEEE_ETS, Ets())
      .U64(DCB_ATTR_IEEE_MAXRATE, 0)
      .Value(DCB_ATTR_IEEE_PFC, Pfc())
      .Begin(DCB_ATTR_IEEE_APP_TABLE)
      .Value(DCB_ATTR_IEEE_APP, dcb_app{.selector = 5, .priority = 3, .protocol = 26})
      .Value(2, dcb_app{.selector = 255, .priority = 4, .protocol = 4})
      .End()
      .End();
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

TEST(DcbIeee, KeepsAbsentApartFromEmpty) {
  const Datagram empty = Reply(DCB_CMD_IEEE_GET).Begin(DCB_ATTR_IEEE).End();
  const DcbIeee ieee = *ParseDcbIeee(empty.bytes());
  EXPECT_FALSE(ieee.pfc || ieee.ets || ieee.app);
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

TEST(Dcbx, IsOneByte) {
  EXPECT_EQ(*ParseDcbx(Reply(DCB_CMD_GDCBX).U8(DCB_ATTR_DCBX, 0x0d).bytes()), 0x0d);
  EXPECT_EQ(ParseDcbx(Reply(DCB_CMD_GDCBX).bytes()).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(ParseDcbx(Reply(DCB_CMD_GDCBX).U32(DCB_ATTR_DCBX, 0x0d).bytes()).status(),
            Status(Code::kInvalidArgument, "netlink: DCBX mode: expected 1 bytes, saw 4"));
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
  EXPECT_EQ(OpenDcbNetlink(kernel.Client())->Dcbx("rail0").status(),
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
  EXPECT_EQ(dcb->Dcbx("lo").status().code(), Code::kUnimplemented);
}

TEST(LiveDcbNetlink, UnknownNetdevIsNotFound) {
  const Status status = OpenDcbNetlink()->Ieee("no-such0").status();
  if (status.code() == Code::kUnimplemented) GTEST_SKIP() << "this kernel has no CONFIG_DCB";
  EXPECT_EQ(status.code(), Code::kNotFound) << status.message();
}

TEST(NoDcbNetlink, RefusesEverything) {
  EXPECT_EQ(NoDcbNetlink()->Ieee("rail0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(NoDcbNetlink()->Dcbx("rail0").status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace fabric::host
