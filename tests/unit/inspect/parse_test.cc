#include "agents/inspect/parse/parse.h"

#include <gmock/gmock.h>

namespace fabric::inspect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ParsePortState, TakesTheNumberAndRefusesTheRest) {
  EXPECT_EQ(*ParsePortState("4: ACTIVE"), v1::PORT_STATE_ACTIVE);
  EXPECT_EQ(*ParsePortState("1: DOWN"), v1::PORT_STATE_DOWN);
  for (const char* text : {"", "0: NOP", "6: WHAT", "ACTIVE", "4", "-1: DOWN", "99999999999: X"})
    EXPECT_EQ(ParsePortState(text).status().code(), Code::kInvalidArgument) << text;
}

TEST(ParsePhysicalState, RefusesWhatTheKernelCallsUnknown) {
  EXPECT_EQ(*ParsePhysicalState("5: LinkUp"), v1::PHYSICAL_STATE_LINK_UP);
  EXPECT_EQ(*ParsePhysicalState("3: Disabled"), v1::PHYSICAL_STATE_DISABLED);
  EXPECT_THAT(ParsePhysicalState("9: <unknown>").status().message(),
              HasSubstr("expected a physical state such as '5: LinkUp', saw '9: <unknown>'"));
}

TEST(ParseRate, KnowsWhatKernelsPrint) {
  struct Case {
    const char* text;
    std::uint64_t bps;
    std::uint32_t width;
    const char* speed;
  };
  for (const Case& row : {Case{"400 Gb/sec (4X NDR)", 400'000'000'000, 4, "NDR"},
                          Case{"2.5 Gb/sec (1X SDR)", 2'500'000'000, 1, "SDR"},
                          Case{"10 Gb/sec (1X FDR10)", 10'000'000'000, 1, "FDR10"},
                          Case{"800 Gb/sec (8X NDR)", 800'000'000'000, 8, "NDR"}}) {
    const Result<Rate> rate = ParseRate(row.text);
    ASSERT_TRUE(rate.ok()) << row.text;
    EXPECT_EQ(rate->bps, row.bps);
    EXPECT_EQ(rate->width, row.width);
    EXPECT_EQ(rate->speed, row.speed);
  }
}

TEST(ParseRate, RefusesTheAbsurd) {
  for (const char* text :
       {"", "400", "400 Gb/sec", "400 Gb/sec (4X )", "x Gb/sec (4X NDR)", "400 Gb/sec (0X NDR)",
        "400 Gb/sec (99X NDR)", "-400 Gb/sec (4X NDR)", "400 Mb/sec (4X NDR)", "0 Gb/sec (1X SDR)",
        "99999999999999999999 Gb/sec (4X NDR)", "400 Gb/sec (4X NDR", "2.7 Gb/sec (1X SDR)"})
    EXPECT_FALSE(ParseRate(text).ok()) << text;
}

TEST(ParseGidType, IbRoceV1IsOneStringForBoth) {
  EXPECT_EQ(*ParseGidType("IB/RoCE v1", v1::LINK_LAYER_INFINIBAND), v1::GID_TYPE_INFINIBAND);
  EXPECT_EQ(*ParseGidType("IB/RoCE v1", v1::LINK_LAYER_ETHERNET), v1::GID_TYPE_ROCE_V1);
  EXPECT_EQ(*ParseGidType("RoCE v2", v1::LINK_LAYER_ETHERNET), v1::GID_TYPE_ROCE_V2);
  EXPECT_FALSE(ParseGidType("IB/RoCE v1", v1::LINK_LAYER_UNSPECIFIED).ok());
  EXPECT_FALSE(ParseGidType("RoCE v3", v1::LINK_LAYER_ETHERNET).ok());
}

TEST(ParseGid, TellsEmptyLinkLocalAndIpv4Apart) {
  EXPECT_TRUE(IsEmptyGid(*ParseGid("0000:0000:0000:0000:0000:0000:0000:0000")));
  EXPECT_FALSE(IsEmptyGid(*ParseGid("0000:0000:0000:0000:0000:0000:0000:0001")));
  EXPECT_TRUE(IsLinkLocalGid(*ParseGid("FE80:0000:0000:0000:5054:00ff:fe12:3456")));
  EXPECT_FALSE(IsLinkLocalGid(*ParseGid("2001:0db8:0000:0000:0000:0000:0000:0001")));
  EXPECT_EQ(Ipv4OfGid(*ParseGid("0000:0000:0000:0000:0000:ffff:0a0a:0001")), "10.10.0.1");
  EXPECT_EQ(Ipv4OfGid(*ParseGid("fe80:0000:0000:0000:5054:00ff:fe12:3456")), "");
  for (const char* text :
       {"", "fe80::1", "fe80:0000:0000:0000:5054:00ff:fe12:345",
        "fe80:0000:0000:0000:5054:00ff:fe12:345g", "fe80:0000:0000:0000:5054:00ff:fe12:3456:"})
    EXPECT_FALSE(ParseGid(text).ok()) << text;
}

TEST(ParseMac, TakesEthernetAndInfiniband) {
  EXPECT_EQ(*ParseMac("52:54:00:AB:cd:ef"), "52:54:00:ab:cd:ef");
  EXPECT_TRUE(ParseMac("00:00:10:29:fe:80:00:00:00:00:00:00:a0:88:c2:03:00:5e:0f:10").ok());
  EXPECT_FALSE(ParseMac("52:54:00:ab:cd").ok());
}

TEST(RoceMtu, RoundsDownAfterNinetySixBytes) {
  const std::pair<std::uint32_t, std::uint32_t> cases[] = {{1500, 1024}, {4096, 2048}, {4191, 2048},
                                                           {4192, 4096}, {4200, 4096}, {9000, 4096},
                                                           {352, 256}};
  for (const auto& [netdev, rdma] : cases) EXPECT_EQ(RoceMtu(netdev), rdma) << netdev;
  EXPECT_EQ(RoceMtu(351), std::nullopt);
}

TEST(UeventValue, FindsTheWholeKey) {
  constexpr std::string_view kUevent =
      "DRIVER=mlx5_core\nPCI_CLASS=20700\nPCI_SLOT_NAME=0000:17:00.0\n";
  EXPECT_EQ(UeventValue(kUevent, "PCI_SLOT_NAME"), "0000:17:00.0");
  EXPECT_EQ(UeventValue(kUevent, "DRIVER"), "mlx5_core");
  EXPECT_EQ(UeventValue(kUevent, "PCI"), "");
}

TEST(ModuleIsLive, ReadsNameAndState) {
  constexpr std::string_view kModules =
      "nvidia_peermem 16384 0 - Live 0x0000000000000000 (OE)\n"
      "nv_peer_mem 16384 0 - Loading 0x0\n";
  EXPECT_TRUE(ModuleIsLive(kModules, "nvidia_peermem"));
  EXPECT_FALSE(ModuleIsLive(kModules, "nv_peer_mem"));
  EXPECT_FALSE(ModuleIsLive(kModules, "nvidia"));
}

v1::DcbConfig WithDscp(std::uint32_t count) {
  v1::DcbConfig dcb;
  dcb.set_app_read(true);
  for (std::uint32_t dscp = 0; dscp < count; ++dscp) {
    v1::AppEntry& entry = *dcb.add_app();
    entry.set_selector(v1::APP_SELECTOR_DSCP);
    entry.set_protocol(dscp);
    entry.set_priority(dscp >> 3);
  }
  return dcb;
}

TEST(TrustOfApp, NoDscpEntryIsPcpOnMlx5Only) {
  EXPECT_EQ(TrustOfApp(WithDscp(0), "mlx5_core"), v1::TRUST_PCP);
  EXPECT_EQ(TrustOfApp(WithDscp(0), "bnxt_en"), std::nullopt);
  EXPECT_EQ(TrustOfApp(WithDscp(1), "ice"), v1::TRUST_DSCP);
  EXPECT_EQ(TrustOfApp(WithDscp(64), "mlx5_core"), v1::TRUST_DSCP);
  EXPECT_EQ(TrustOfApp(v1::DcbConfig(), "mlx5_core"), std::nullopt) << "the table was not read";
}

TEST(DscpMapOfApp, FillsWithZeroOnMlx5Only) {
  const std::vector<std::uint32_t> map = DscpMapOfApp(WithDscp(64), "bnxt_en");
  ASSERT_THAT(map, SizeIs(64));
  EXPECT_EQ(map[26], 3u);
  EXPECT_THAT(DscpMapOfApp(WithDscp(27), "bnxt_en"), IsEmpty());
  EXPECT_EQ(DscpMapOfApp(WithDscp(27), "mlx5_core").at(27), 0u);
}

TEST(ProtocolOf, EthernetIncludesIwarp) {
  EXPECT_EQ(ProtocolOf(v1::NODE_TYPE_CA, v1::LINK_LAYER_ETHERNET, "mlx5_core"), v1::PROTOCOL_ROCE);
  EXPECT_EQ(ProtocolOf(v1::NODE_TYPE_RNIC, v1::LINK_LAYER_ETHERNET, "irdma"), v1::PROTOCOL_IWARP);
  EXPECT_EQ(ProtocolOf(v1::NODE_TYPE_CA, v1::LINK_LAYER_INFINIBAND, "mlx5_core"),
            v1::PROTOCOL_INFINIBAND);
  EXPECT_EQ(ProtocolOf(v1::NODE_TYPE_CA, v1::LINK_LAYER_INFINIBAND, "hfi1"), v1::PROTOCOL_OPA);
  EXPECT_EQ(ProtocolOf(std::nullopt, v1::LINK_LAYER_ETHERNET, ""), std::nullopt);
}

TEST(IsPlainName, RefusesWhatCannotBeShown) {
  EXPECT_TRUE(IsPlainName("mlx5_bond_0"));
  EXPECT_TRUE(IsPlainName("eth0.100"));
  EXPECT_FALSE(IsPlainName(std::string(65, 'x')));
  for (const std::string name : {"", "a b", "a\nb", "\xff\xfe", "mlx5\x7f"})
    EXPECT_FALSE(IsPlainName(name)) << name;
}

}  // namespace
}  // namespace fabric::inspect
