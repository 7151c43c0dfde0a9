#include "agents/inspect/report/lossless_text.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace fabric::inspect {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kPriorityToBuffer =
    "Priority\tBuffer\n0\t\t0\n1\t\t0\n2\t\t0\n3\t\t1\n4\t\t0\n5\t\t0\n6\t\t0\n7\t\t0";

TEST(PriorityTable, IsReadAsTheDriverPrintsIt) {
  EXPECT_THAT(*ParsePriorityTable(kPriorityToBuffer, 8), ElementsAre(0, 0, 0, 1, 0, 0, 0, 0));
  std::string map = "dscp\tprio\n";
  for (int dscp = 0; dscp < 64; ++dscp) map += Format("{}\t{}\n", dscp, dscp / 8);
  const auto priorities = ParsePriorityTable(map, 64);
  ASSERT_TRUE(priorities.ok()) << priorities.status().message();
  EXPECT_EQ(priorities->at(26), 3u);
}

TEST(PriorityTable, WithoutEveryIndexOnceIsRefused) {
  EXPECT_FALSE(ParsePriorityTable(kPriorityToBuffer, 64).ok());
  EXPECT_FALSE(ParsePriorityTable("", 8).ok());
  EXPECT_FALSE(ParsePriorityTable("N/A", 8).ok());
  EXPECT_FALSE(ParsePriorityTable("0 1\n0 2", 2).ok());
  EXPECT_FALSE(ParsePriorityTable("0 1\n2 2", 2).ok());
  EXPECT_FALSE(ParsePriorityTable("0 1\n1", 2).ok());
  EXPECT_FALSE(ParsePriorityTable("0 1\n1 8", 2).ok()) << "there is no priority 8";
}

TEST(BufferSizes, AreReadAsTheDriverPrintsThem) {
  const auto sizes = ParseBufferSizes(
      "Port buffer size = 262016\nSpare buffer size = 0\n"
      "Buffer\tSize\txoff_threshold\txon_threshold\n"
      "0\t130944\t0\t\t0\n1\t131072\t54272\t\t35328\n2\t0\t0\t\t0\n3\t0\t0\t\t0\n4\t0\t0\t\t0\n"
      "5\t0\t0\t\t0\n6\t0\t0\t\t0\n7\t0\t0\t\t0");
  ASSERT_TRUE(sizes.ok()) << sizes.status().message();
  EXPECT_EQ(sizes->total_bytes, 262016u);
  EXPECT_THAT(sizes->size_bytes, ElementsAre(130944, 131072, 0, 0, 0, 0, 0, 0));
  EXPECT_FALSE(ParseBufferSizes("Port buffer size = 262016").ok());
  EXPECT_FALSE(ParseBufferSizes("Port buffer size = big").ok());
}

TEST(MaxRates, AreKilobits) {
  EXPECT_THAT(*ParseMaxRates("0 0 0 0 0 0 0 0 "), AllOf(SizeIs(8), Each(0)));
  EXPECT_EQ(ParseMaxRates("0 25000000 0 0 0 0 0 0")->at(1), 25'000'000'000u);
  EXPECT_FALSE(ParseMaxRates("0 0").ok());
  EXPECT_FALSE(ParseMaxRates("0 0 0 0 0 0 0 18446744073709551615").ok());
}

TEST(TrafficClass, IsReadInEverySpelling) {
  for (const char* text : {"Global tclass=106", "tclass=106", "106", "0x6a"}) {
    const auto traffic_class = ParseTrafficClass(text);
    ASSERT_TRUE(traffic_class.ok()) << text;
    EXPECT_EQ(traffic_class->global, 106u) << text;
    EXPECT_THAT(traffic_class->rules, IsEmpty()) << text;
  }
}

TEST(TrafficClass, HasRulesBesideTheGlobalOne) {
  const auto both = ParseTrafficClass("Global tclass=106\nsrc_ip=10.0.0.1/24,tclass=64\n");
  EXPECT_EQ(both->global, 106u);
  EXPECT_THAT(both->rules, ElementsAre("src_ip=10.0.0.1/24,tclass=64"));
  const auto alone = ParseTrafficClass("tclass=64,dst_ip6=2001:db8::/64");
  EXPECT_FALSE(alone->global.has_value());
  EXPECT_THAT(alone->rules, ElementsAre("tclass=64,dst_ip6=2001:db8::/64"));
}

TEST(TrafficClass, NotSetIsNotZero) {
  EXPECT_FALSE(ParseTrafficClass("")->global.has_value());
  EXPECT_FALSE(ParseTrafficClass("Global tclass=-1")->global.has_value());
  EXPECT_EQ(ParseTrafficClass("Global tclass=0")->global, 0u);
  EXPECT_FALSE(ParseTrafficClass("256").ok());
  EXPECT_FALSE(ParseTrafficClass("N/A").ok());
}

TEST(Setting, IsDecimalHexadecimalOrAFlag) {
  EXPECT_EQ(*ParseSetting("26"), 26u);
  EXPECT_EQ(*ParseSetting("0x1a"), 26u);
  EXPECT_EQ(*ParseSetting("0"), 0u);
  EXPECT_EQ(*ParseSetting("Y"), 1u);
  EXPECT_EQ(*ParseSetting("N"), 0u);
  EXPECT_FALSE(ParseSetting("").ok());
  EXPECT_FALSE(ParseSetting("N/A").ok());
}

TEST(StallPrevention, IsOneOfTwoWords) {
  EXPECT_EQ(*ParseStallPrevention("default"), 8000u);
  EXPECT_EQ(*ParseStallPrevention("auto"), 100u);
  EXPECT_FALSE(ParseStallPrevention("100").ok());
}

TEST(Info, IsFoundByItsKey) {
  constexpr std::string_view kInfo = "\tnum_irq : 4\n\tfw_service_prof_type_sup : 1\n";
  EXPECT_EQ(InfoValue(kInfo, "fw_service_prof_type_sup"), 1u);
  EXPECT_FALSE(InfoValue(kInfo, "prof_type_sup").has_value());
  EXPECT_FALSE(InfoValue("fw_service_prof_type_sup : yes", "fw_service_prof_type_sup"));
}

}  // namespace
}  // namespace fabric::inspect
