// EEPROMs of pluggable modules, and the inspector modules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "agents/inspect/parse/module_eeprom.h"
#include "tests/unit/inspect/small_node.h"

namespace fabric::inspect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Key = std::tuple<int, int, int>;
using Pages = std::map<Key, std::vector<std::uint8_t>>;

// Writes into pages of zeros; addresses as the standards have them.
class Eeprom {
 public:
  Eeprom& Byte(int page, int address, int value, int i2c = 0x50) {
    auto& half = pages_[{i2c, page, address < 128 ? 0 : 128}];
    half.resize(kEepromHalfBytes);
    half[static_cast<std::size_t>(address % 128)] = static_cast<std::uint8_t>(value);
    return *this;
  }
  Eeprom& Word(int page, int address, int value, int i2c = 0x50) {
    return Byte(page, address, value >> 8, i2c).Byte(page, address + 1, value, i2c);
  }
  Eeprom& Text(int page, int address, const std::string& text, int size, int i2c = 0x50) {
    for (int i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Byte(page, address + i, at < text.size() ? text[at] : ' ', i2c);
    }
    return *this;
  }
  // High alarm, low alarm, high warning, low warning.
  Eeprom& Limits(int page, int address, const std::array<int, 4>& values, int i2c = 0x50) {
    for (int i = 0; i < 4; ++i)
      Word(page, address + 2 * i, values[static_cast<std::size_t>(i)], i2c);
    return *this;
  }
  const Pages& pages() const { return pages_; }

 private:
  Pages pages_;
};

ReadEeprom From(const Pages& pages) {
  return [pages](const EepromPlace& place) -> Result<std::vector<std::uint8_t>> {
    const auto found = pages.find({place.i2c_address, place.page, place.offset});
    if (found == pages.end()) return Status(Code::kUnavailable, "no such page");
    return found->second;
  };
}

Eeprom Qsfp28() {
  Eeprom eeprom;
  eeprom.Byte(0, 0, 0x11)
      .Word(0, 22, 45 * 256 + 128)
      .Word(0, 26, 33'000)
      .Word(0, 34, 8'000)
      .Word(0, 36, 7'000)
      .Word(0, 38, 0)
      .Word(0, 40, 9'000)
      .Word(0, 42, 3'500)
      .Word(0, 50, 10'000);
  eeprom.Byte(0, 147, 0x00)
      .Text(0, 148, "Mellanox", 16)
      .Text(0, 168, "MMA1B00-C100D", 16)
      .Text(0, 184, "A2", 2)
      .Text(0, 196, "MT2019FT00123", 16);
  eeprom.Limits(3, 128, {80 * 256, -10 * 256, 70 * 256, 0})
      .Limits(3, 144, {36'300, 29'700, 34'650, 31'350})
      .Limits(3, 176, {34'673, 467, 17'378, 933});
  return eeprom;
}

TEST(ModuleEeprom, OfAnOpticalQsfp28) {
  const auto module = ParseModule(From(Qsfp28().pages()));
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(module->kind(), "QSFP28");
  EXPECT_EQ(module->standard(), "SFF-8636");
  EXPECT_EQ(module->medium(), "optical");
  EXPECT_EQ(module->vendor(), "Mellanox");
  EXPECT_EQ(module->part_number(), "MMA1B00-C100D");
  EXPECT_EQ(module->revision(), "A2");
  EXPECT_EQ(module->serial_number(), "MT2019FT00123");
  EXPECT_FALSE(module->has_length_m());
  EXPECT_DOUBLE_EQ(module->temperature_celsius(), 45.5);
  EXPECT_DOUBLE_EQ(module->voltage_volts(), 3.3);
  ASSERT_EQ(module->lanes_size(), 4);
  EXPECT_DOUBLE_EQ(module->lanes(0).rx_power_milliwatts(), 0.8);
  EXPECT_DOUBLE_EQ(module->lanes(2).rx_power_milliwatts(), 0);
  EXPECT_DOUBLE_EQ(module->lanes(0).tx_bias_milliamperes(), 7);
  EXPECT_DOUBLE_EQ(module->lanes(0).tx_power_milliwatts(), 1);
  EXPECT_DOUBLE_EQ(module->temperature_limits().alarm_high(), 80);
  EXPECT_DOUBLE_EQ(module->temperature_limits().alarm_low(), -10);
  EXPECT_NEAR(module->rx_power_limits().alarm_low(), 0.0467, 1e-9);
  EXPECT_FALSE(module->has_tx_power_limits()) << "all zeros are no limits";
}

TEST(ModuleEeprom, OfACopperCableHasNoMonitors) {
  Eeprom eeprom = Qsfp28();
  eeprom.Byte(0, 147, 0xa0).Byte(0, 146, 3).Byte(0, 2, 0x04).Word(0, 22, 0).Word(0, 26, 0);
  const auto module = ParseModule(From(eeprom.pages()));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->medium(), "passive copper");
  EXPECT_DOUBLE_EQ(module->length_m(), 3);
  EXPECT_TRUE(module->flat_memory());
  EXPECT_FALSE(module->has_temperature_celsius()) << "not 0 degrees";
  EXPECT_FALSE(module->has_voltage_volts());
  EXPECT_TRUE(module->lanes().empty());
}

Eeprom Osfp() {
  Eeprom eeprom;
  eeprom.Byte(0, 0, 0x19).Byte(0, 3, 3 << 1).Word(0, 14, 52 * 256).Word(0, 16, 32'900);
  eeprom.Byte(0, 85, 2)
      .Text(0, 129, "NVIDIA", 16)
      .Text(0, 148, "MMS4X00-NM", 16)
      .Text(0, 166, "MT2301", 16)
      .Byte(0, 202, 0x00);
  eeprom.Byte(1, 159, 3).Byte(1, 160, 0x07 | 1 << 3);
  eeprom.Limits(2, 128, {75 * 256, -5 * 256, 70 * 256, 0})
      .Limits(2, 192, {50'000, 1'000, 40'000, 2'000});
  for (int lane = 0; lane < 8; ++lane)
    eeprom.Word(0x11, 154 + 2 * lane, 12'000)
        .Word(0x11, 170 + 2 * lane, 10'000)
        .Word(0x11, 186 + 2 * lane, 9'000 + lane);
  return eeprom;
}

TEST(ModuleEeprom, OfAnOsfp) {
  const auto module = ParseModule(From(Osfp().pages()));
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(module->kind(), "OSFP");
  EXPECT_EQ(module->standard(), "CMIS");
  EXPECT_EQ(module->medium(), "optical");
  EXPECT_EQ(module->state(), "ready");
  EXPECT_EQ(module->part_number(), "MMS4X00-NM");
  EXPECT_FALSE(module->has_length_m());
  EXPECT_DOUBLE_EQ(module->temperature_celsius(), 52);
  ASSERT_EQ(module->lanes_size(), 8);
  EXPECT_NEAR(module->lanes(7).rx_power_milliwatts(), 0.9007, 1e-9);
  EXPECT_DOUBLE_EQ(module->lanes(0).tx_bias_milliamperes(), 40) << "in units of 4 microamperes";
  EXPECT_DOUBLE_EQ(module->rx_power_limits().alarm_low(), 0.1);
}

TEST(ModuleEeprom, OfACmisCableHasALength) {
  Eeprom eeprom = Osfp();
  eeprom.Byte(0, 2, 0x80).Byte(0, 85, 3).Byte(0, 202, 0x00 | 15);
  const auto module = ParseModule(From(eeprom.pages()));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->medium(), "passive copper");
  EXPECT_DOUBLE_EQ(module->length_m(), 1.5);
  EXPECT_FALSE(module->has_temperature_celsius());
}

TEST(ModuleEeprom, OfAnSfp28) {
  Eeprom eeprom;
  eeprom.Byte(0, 0, 0x03).Byte(0, 92, 0x68).Text(0, 20, "FINISAR", 16).Text(0, 40, "FTLF8536", 16);
  eeprom.Word(0, 96, -3 * 256, 0x51)
      .Word(0, 98, 33'100, 0x51)
      .Word(0, 104, 5'000, 0x51)
      .Limits(0, 0, {78 * 256, -13 * 256, 73 * 256, -8 * 256}, 0x51);
  const auto module = ParseModule(From(eeprom.pages()));
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(module->kind(), "SFP");
  EXPECT_DOUBLE_EQ(module->temperature_celsius(), -3);
  ASSERT_EQ(module->lanes_size(), 1);
  EXPECT_DOUBLE_EQ(module->lanes(0).rx_power_milliwatts(), 0.5);
  EXPECT_DOUBLE_EQ(module->temperature_limits().alarm_low(), -13);
}

TEST(ModuleEeprom, WithoutLaterPagesKeepsItsIdentity) {
  Pages pages = Qsfp28().pages();
  pages.erase(Key(0x50, 3, 128));
  const auto module = ParseModule(From(pages));
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->vendor(), "Mellanox");
  EXPECT_FALSE(module->has_temperature_limits());
}

TEST(ModuleEeprom, RejectsUnknownKindsAndShortPages) {
  Eeprom unknown;
  unknown.Byte(0, 0, 0x42);
  EXPECT_EQ(ParseModule(From(unknown.pages())).status(),
            Status(Code::kUnimplemented, "unknown kind of module, identifier 0x42"));
  Pages pages = Qsfp28().pages();
  pages[Key(0x50, 0, 0)].resize(100);
  EXPECT_EQ(ParseModule(From(pages)).status().code(), Code::kDataLoss);
  EXPECT_EQ(ParseModule(From({})).status().code(), Code::kUnavailable);
}

TEST(Modules, AreReadWithFecModes) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.ethtool.status = Status();
  node.fake.ethtool.modules["eth0"] = Qsfp28().pages();
  node.fake.ethtool.fec_modes["eth0"] = {.configured = {"rs", "auto"}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(snapshot.net_interfaces(0).module().part_number(), "MMA1B00-C100D");
  EXPECT_THAT(snapshot.net_interfaces(0).fec_configured(), ElementsAre("auto", "rs"));
}

TEST(Modules, WithoutPermissionAreAGap) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.ethtool.status = Status();
  node.fake.ethtool.module_status = {Code::kPermissionDenied, "Operation not permitted"};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_FALSE(snapshot.net_interfaces(0).has_module());
  EXPECT_THAT(GapsOf(snapshot, "modules"),
              ElementsAre(HasSubstr("netlink ethtool module eth0: PERMISSION_DENIED")));
}

TEST(Modules, UnreadFecModesAreAGap) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.ethtool.status = Status();
  node.fake.ethtool.modules["eth0"] = Qsfp28().pages();
  EXPECT_THAT(GapsOf(node.Inspected(), "modules"), ::testing::IsEmpty()) << "none is healthy";
  node.fake.ethtool.fec_modes_status = {Code::kPermissionDenied, "Operation not permitted"};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_TRUE(snapshot.net_interfaces(0).has_module());
  EXPECT_THAT(GapsOf(snapshot, "modules"),
              ElementsAre(HasSubstr("netlink ethtool fec-modes eth0: PERMISSION_DENIED")));
}

TEST(FecCounters, HaveTheSameNamesForAllDrivers) {
  SmallNode node;
  node.AnswerRdma();
  node.fake.ethtool.status = Status();
  node.fake.ethtool.statistics["eth0"] = {{"rx_corrected_bits_phy", 12}};
  node.fake.ethtool.fec_statistics["eth0"] = {
      {"corrected_blocks", 7}, {"uncorrectable_blocks", 0}, {"corrected_bits", 12}};
  const v1::NodeSnapshot snapshot = node.Inspected();
  EXPECT_EQ(FindCounter(snapshot, "corrected_blocks")->neutral(), "fec_corrected_blocks");
  EXPECT_EQ(FindCounter(snapshot, "uncorrectable_blocks")->neutral(), "fec_uncorrectable_blocks");
  EXPECT_EQ(FindCounter(snapshot, "rx_corrected_bits_phy")->neutral(), "fec_corrected_bits");
  EXPECT_FALSE(FindCounter(snapshot, "corrected_bits")->has_neutral()) << "named once";
}

}  // namespace
}  // namespace fabric::inspect
