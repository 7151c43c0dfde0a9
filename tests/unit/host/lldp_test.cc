#include "agents/host/lldp/lldp.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace fabric::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using ByteVector = std::vector<std::uint8_t>;

ByteVector FromHex(std::string_view hex) {
  ByteVector bytes;
  std::string digits;
  for (const char c : hex)
    if (c != ' ' && c != '\n') digits += c;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(*ParseNumber<std::uint8_t>(std::string_view(digits).substr(i, 2), 16));
  return bytes;
}

// A TLV with its type and length in front.
std::string Tlv(unsigned type, std::string_view hex) {
  const std::size_t size = FromHex(hex).size();
  return Format("{:04x} {}\n", (type << 9) | static_cast<unsigned>(size), hex);
}

std::string Text(std::string_view text) {
  std::string hex;
  for (const char c : text) hex += Format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

const std::string kMandatory =
    Tlv(1, "04 1c34da001122") + Tlv(2, "05" + Text("Eth1/7")) + Tlv(3, "0078");
const std::string kEnd = Tlv(0, "");

Result<LldpFrame> Parsed(const std::string& hex) {
  return ParseLldpFrame(FromHex(hex));
}

TEST(LldpFrame, MandatoryTlvsNameThePartner) {
  const auto frame = Parsed(kMandatory + kEnd);
  ASSERT_TRUE(frame.ok()) << frame.status().message();
  EXPECT_EQ(frame->chassis_id, "1c:34:da:00:11:22");
  EXPECT_EQ(frame->chassis_id_subtype, 4u);
  EXPECT_EQ(frame->port_id, "Eth1/7");
  EXPECT_EQ(frame->port_id_subtype, 5u);
  EXPECT_EQ(frame->ttl_s, 120u);
  EXPECT_FALSE(frame->pfc);
  EXPECT_FALSE(frame->application_announced);
}

TEST(LldpFrame, IdsByTheirSubtypes) {
  struct Case {
    const char* chassis;
    const char* port;
    const char* expected;
  };
  const Case kCases[] = {
      {"05 01 0a000001", "04 02 20010db8000000000000000000000001", "10.0.0.1 2001:db8::1"},
      {"07 6c656166 01", "03 aabbccddeeff", "leaf? aa:bb:cc:dd:ee:ff"},
      {"04 aabb", "07 37", "?? 7"},
      {"05 06 0102", "02 70", "01:02 p"},
  };
  for (const Case& test : kCases) {
    const auto frame = Parsed(Tlv(1, test.chassis) + Tlv(2, test.port) + Tlv(3, "0001"));
    ASSERT_TRUE(frame.ok()) << frame.status().message();
    EXPECT_EQ(frame->chassis_id + " " + frame->port_id, test.expected);
  }
}

TEST(LldpFrame, OptionalTlvs) {
  const auto frame = Parsed(kMandatory + Tlv(4, Text("rail 0 of n1")) + Tlv(5, Text("leaf-03")) +
                            Tlv(6, Text("Onyx\n3.10")) + Tlv(8, "05 01 0a0a0001 02 00000007 00") +
                            Tlv(127, "0080c2 01 0064") + Tlv(127, "00120f 04 2400") +
                            Tlv(127, "00120f 03 03 00000009") + Tlv(127, "001b21 02 0a0b") +
                            Tlv(127, "aabbcc 01 00") + Tlv(9, "00") + kEnd);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->port_description, "rail 0 of n1");
  EXPECT_EQ(frame->system_name, "leaf-03");
  EXPECT_EQ(frame->system_description, "Onyx 3.10");
  EXPECT_THAT(frame->management_addresses, ElementsAre("10.10.0.1"));
  EXPECT_EQ(frame->port_vlan_id, 100u);
  EXPECT_EQ(frame->max_frame_bytes, 9216u);
  EXPECT_TRUE(frame->link_aggregation_enabled);
  EXPECT_EQ(frame->link_aggregation_port_id, 9u);
  EXPECT_TRUE(frame->cee_announced);
}

// A Spectrum SN3700C with Onyx 3.10 and PFC switched off: an empty Application TLV, no PFC TLV.
TEST(LldpFrame, OfOnyxWithoutPfc) {
  const auto frame =
      Parsed(kMandatory + Tlv(127, "0080c2 09 08 01234567 0c0d0c0d0c0d0c0d 0202020202020202") +
             Tlv(127, "0080c2 0a 00 01234567 0c0d0c0d0c0d0c0d 0202020202020202") +
             Tlv(127, "0080c2 0c 00") + kEnd);
  ASSERT_TRUE(frame.ok());
  ASSERT_TRUE(frame->ets_configuration);
  EXPECT_FALSE(frame->ets_configuration->willing);
  EXPECT_EQ(frame->ets_configuration->traffic_classes, 8u);
  EXPECT_THAT(frame->ets_configuration->priority_to_tc, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(frame->ets_configuration->tc_bandwidth_percent,
              ElementsAre(12, 13, 12, 13, 12, 13, 12, 13));
  EXPECT_THAT(frame->ets_configuration->tc_algorithm, ElementsAre(2, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_TRUE(frame->ets_recommendation);
  EXPECT_TRUE(frame->application_announced);
  EXPECT_THAT(frame->applications, IsEmpty());
  EXPECT_FALSE(frame->pfc) << "not announced is no proof of off";
}

TEST(LldpFrame, WithPfcAndTheApplicationOfRoce) {
  const auto frame = Parsed(kMandatory + Tlv(127, "0080c2 0b 88 08") +
                            Tlv(127, "0080c2 0c 00 63 12b7 65 001a 21 8906") +
                            Tlv(127, "0080c2 09 c4 00001000 6432000000000000 0200ff0000000000"));
  ASSERT_TRUE(frame.ok());
  ASSERT_TRUE(frame->pfc);
  EXPECT_TRUE(frame->pfc->willing);
  EXPECT_FALSE(frame->pfc->mbc);
  EXPECT_EQ(frame->pfc->capability, 8u);
  EXPECT_EQ(frame->pfc->enabled_mask, 0x08u);
  ASSERT_THAT(frame->applications, SizeIs(3));
  EXPECT_EQ(frame->applications[0].selector, 3u);
  EXPECT_EQ(frame->applications[0].protocol, 4791u);
  EXPECT_EQ(frame->applications[0].priority, 3u);
  EXPECT_EQ(frame->applications[1].selector, 5u);
  EXPECT_EQ(frame->applications[2].protocol, 0x8906u);
  EXPECT_TRUE(frame->ets_configuration->willing);
  EXPECT_TRUE(frame->ets_configuration->cbs);
  EXPECT_EQ(frame->ets_configuration->traffic_classes, 4u);
  EXPECT_EQ(frame->ets_configuration->priority_to_tc[4], 1);
}

TEST(LldpFrame, TlvsThatAreTooShortForWhatTheySayAreSkipped) {
  const auto frame = Parsed(kMandatory + Tlv(127, "0080c2 0b 88") + Tlv(127, "0080c2 09 00 01") +
                            Tlv(127, "0080c2 01 00") + Tlv(127, "00120f 04 24") + Tlv(127, "0080") +
                            Tlv(127, "0080c2 0c") + Tlv(8, "") + Tlv(8, "09 01 0a") + kEnd);
  ASSERT_TRUE(frame.ok());
  EXPECT_FALSE(frame->pfc);
  EXPECT_FALSE(frame->ets_configuration);
  EXPECT_FALSE(frame->port_vlan_id);
  EXPECT_FALSE(frame->max_frame_bytes);
  EXPECT_FALSE(frame->application_announced);
  EXPECT_THAT(frame->management_addresses, IsEmpty());
}

TEST(LldpFrame, RefusesWhatIsNone) {
  const std::string kCases[] = {
      "",
      "02",
      Tlv(1, "04 1c34da001122"),
      Tlv(2, "05 41") + Tlv(1, "04 1c34da001122") + Tlv(3, "0078"),
      Tlv(1, "04") + Tlv(2, "05 41") + Tlv(3, "0078"),
      Tlv(1, "04 1c34da001122") + Tlv(2, "05 41") + Tlv(3, "78"),
      kMandatory + "0a ff 00",
  };
  for (const std::string& test : kCases)
    EXPECT_EQ(Parsed(test).status().code(), Code::kInvalidArgument) << test;
}

constexpr const char* kToNearestBridge = "0180c200000e 1c34da001107 88cc";
constexpr SteadyTime kStart{std::chrono::seconds(1000)};

Moment At(int seconds) {
  return {.steady = kStart + std::chrono::seconds(seconds),
          .wall = WallTime(std::chrono::seconds(1'700'000'000 + seconds))};
}

class LldpTableTest : public ::testing::Test {
 protected:
  LldpTableTest() { table_.Listen(kNetdevs, kStart); }

  void Hear(const std::string& netdev, const std::string& hex, int seconds) {
    table_.Hear(netdev, FromHex(hex), At(seconds));
  }

  std::vector<std::string> Heard(int seconds) {
    std::vector<std::string> heard;
    for (const HeardNeighbor& each : table_.View(At(seconds).steady).neighbors)
      heard.push_back(each.netdev + " " + each.frame.port_id);
    return heard;
  }

  const std::vector<std::string> kNetdevs{"rail0", "rail1"};
  LldpTable table_;
};

TEST_F(LldpTableTest, KeepsANeighbourForItsTimeToLive) {
  Hear("rail0", kToNearestBridge + kMandatory, 10);
  EXPECT_THAT(Heard(10), ElementsAre("rail0 Eth1/7"));
  EXPECT_TRUE(table_.Heard("rail0"));
  EXPECT_FALSE(table_.Heard("rail1"));
  Hear("rail0", kToNearestBridge + kMandatory, 40);
  const LldpView view = table_.View(At(159).steady);
  ASSERT_THAT(view.neighbors, SizeIs(1));
  EXPECT_EQ(view.neighbors[0].received_at, At(10).wall) << "since when it says the same";
  EXPECT_THAT(Heard(160), IsEmpty());
}

TEST_F(LldpTableTest, ANewWordReplacesTheOldOne) {
  Hear("rail0", kToNearestBridge + kMandatory, 10);
  Hear("rail0", kToNearestBridge + kMandatory + Tlv(5, Text("leaf")), 40);
  const LldpView view = table_.View(At(41).steady);
  ASSERT_THAT(view.neighbors, SizeIs(1));
  EXPECT_EQ(view.neighbors[0].frame.system_name, "leaf");
  EXPECT_EQ(view.neighbors[0].received_at, At(40).wall);
}

TEST_F(LldpTableTest, AGoodbyeIsHeard) {
  Hear("rail0", kToNearestBridge + kMandatory, 10);
  Hear("rail0", kToNearestBridge + Tlv(1, "04 1c34da001122") + Tlv(2, "05 41") + Tlv(3, "0000"),
       11);
  EXPECT_THAT(Heard(12), IsEmpty());
}

TEST_F(LldpTableTest, IgnoresWhatIsNotForTheNearestBridge) {
  Hear("rail0", "0180c2000000 1c34da001107 88cc" + kMandatory, 1);
  Hear("rail0", "0180c200000e 1c34da001107 8809" + kMandatory, 1);
  Hear("rail0", "0180c200000e", 1);
  Hear("rail0", std::string(kToNearestBridge) + "0000", 1);
  Hear("eth0", kToNearestBridge + kMandatory, 1);
  EXPECT_THAT(Heard(2), IsEmpty());
}

TEST_F(LldpTableTest, SilenceCountsAfterFourMinutes) {
  Hear("rail0", kToNearestBridge + kMandatory, 10);
  EXPECT_THAT(table_.View(At(239).steady).silent, IsEmpty());
  EXPECT_THAT(table_.View(At(240).steady).silent, ElementsAre("rail1"));
  EXPECT_THAT(table_.View(At(250).steady).silent, ElementsAre("rail0", "rail1"));
}

TEST_F(LldpTableTest, WhatIsNotListenedToIsForgotten) {
  Hear("rail0", kToNearestBridge + kMandatory, 10);
  table_.Listen(std::vector<std::string>{"rail1"}, At(20).steady);
  table_.Listen(kNetdevs, At(30).steady);
  EXPECT_THAT(Heard(31), IsEmpty());
  EXPECT_THAT(table_.View(At(241).steady).silent, ElementsAre("rail1"));
}

TEST_F(LldpTableTest, HasABound) {
  for (int i = 0; i < 20; ++i)
    Hear("rail0", Format("0180c200000e 1c34da0011{:02x} 88cc", i) + kMandatory, 1);
  EXPECT_THAT(Heard(2), SizeIs(LldpTable::kNeighborsMax));
}

}  // namespace
}  // namespace fabric::host
