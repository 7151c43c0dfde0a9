#include "agents/host/pci_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

// Configuration space as bytes, all zero but for what is put in.
class Space {
 public:
  explicit Space(std::size_t size = 4096) : bytes_(size) {
    Put(0x00, {0xb3, 0x15, 0x21, 0x10});  // 15b3:1021
    Put(0x06, {0x10, 0x00});              // There is a list of capabilities
    Put(0x08, {0x00, 0x00, 0x07, 0x02});  // InfiniBand
    Put(0x34, {0x60});
  }
  Space& Put(std::size_t at, const std::vector<std::uint8_t>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (at + i < bytes_.size()) bytes_[at + i] = bytes[i];
    return *this;
  }
  // ConnectX-7 in a Gen5 slot of 16 lanes, trained with 8 at Gen4; a switch port by its type.
  Space& Express(std::uint8_t at, std::uint8_t next, std::uint8_t type = 0) {
    Put(at, {0x10, next, static_cast<std::uint8_t>(2 | type << 4), 0x00});
    Put(at + 4U, {0x02, 0x80, 0x00, 0x00});   // 512 bytes supported
    Put(at + 8U, {0x3f, 0x51});               // 256 bytes, relaxed ordering, extended tag, 4096
    Put(at + 12U, {0x05, 0x01, 0x40, 0x00});  // Gen5 x16
    return Put(at + 18U, {0x84, 0x10});       // Gen4 x8
  }
  Space& Extended(std::size_t at, std::uint8_t id, std::size_t next) {
    return Put(at, {id, 0, static_cast<std::uint8_t>(1 | (next & 0xf) << 4),
                    static_cast<std::uint8_t>(next >> 4)});
  }
  Result<PciConfig> Parsed() const {
    return ParsePciConfig(
        [this](std::uint32_t offset, std::span<std::uint8_t> to) -> Result<std::size_t> {
          const std::size_t begin = std::min<std::size_t>(offset, bytes_.size());
          const std::size_t size = std::min(bytes_.size() - begin, to.size());
          std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin), size, to.begin());
          return size;
        });
  }
  std::string Content() const { return {bytes_.begin(), bytes_.end()}; }

 private:
  std::vector<std::uint8_t> bytes_;
};

TEST(PciConfig, ReadsWhatTheExpressCapabilitySays) {
  const auto config = Space().Put(0x60, {0x05, 0x70}).Express(0x70, 0).Parsed();
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->vendor, 0x15b3);
  EXPECT_EQ(config->device, 0x1021);
  EXPECT_EQ(config->class_code, 0x020700u);
  EXPECT_FALSE(config->buses);
  EXPECT_TRUE(config->capabilities_known);
  ASSERT_TRUE(config->express);
  EXPECT_EQ(config->express->port_type, 0);
  EXPECT_EQ(config->express->payload_bytes, 256u);
  EXPECT_EQ(config->express->payload_supported_bytes, 512u);
  EXPECT_EQ(config->express->read_request_bytes, 4096u);
  EXPECT_TRUE(config->express->relaxed_ordering);
  EXPECT_TRUE(config->express->extended_tag);
  EXPECT_EQ(config->express->speed_code, 4);
  EXPECT_EQ(config->express->width, 8);
  EXPECT_EQ(config->express->speed_code_max, 5);
  EXPECT_EQ(config->express->width_max, 16);
  EXPECT_TRUE(config->extended_known);
  EXPECT_FALSE(config->access_control);
  EXPECT_FALSE(config->translation);
}

TEST(PciConfig, FindsAccessControlAndTranslation) {
  Space space;
  space.Put(0x0e, {0x81}).Put(0x18, {0x16, 0x17, 0x19});  // A bridge with several functions
  space.Express(0x60, 0, 6).Extended(0x100, 0x01, 0x148).Extended(0x148, 0x0d, 0x200);
  space.Put(0x14c, {0x5f, 0x00, 0x1d, 0x00});
  space.Extended(0x200, 0x0f, 0).Put(0x204, {0x20, 0x00, 0x00, 0x80});
  const auto config = space.Parsed();
  ASSERT_TRUE(config.ok());
  ASSERT_TRUE(config->buses);
  EXPECT_EQ(config->buses->secondary, 0x17);
  EXPECT_EQ(config->buses->subordinate, 0x19);
  ASSERT_TRUE(config->access_control);
  EXPECT_EQ(config->access_control->capability, 0x5f);
  EXPECT_EQ(config->access_control->control, 0x1d);
  ASSERT_TRUE(config->translation);
  EXPECT_TRUE(config->translation->enabled);
}

struct Shown {
  std::size_t bytes;
  bool capabilities_known;
  bool extended_known;
};

TEST(PciConfig, SaysWhatWasNotShown) {
  const Shown cases[] = {
      {64, false, false},    // Without CAP_SYS_ADMIN
      {0x68, false, false},  // In the middle of a capability
      {256, true, false},    // No extended space
      {0x102, true, false},  // In the middle of a header
      {0x14e, true, false},  // In the middle of the ACS registers
      {0x150, true, true},  {4096, true, true},
  };
  for (const Shown& each : cases) {
    SCOPED_TRACE(each.bytes);
    Space space(each.bytes);
    space.Express(0x60, 0).Extended(0x100, 0x01, 0x148).Extended(0x148, 0x0d, 0);
    const auto config = space.Parsed();
    ASSERT_TRUE(config.ok());
    EXPECT_EQ(config->capabilities_known, each.capabilities_known);
    EXPECT_EQ(config->extended_known, each.extended_known);
  }
}

TEST(PciConfig, AConventionalFunctionHasNothingToHide) {
  const auto without_list = Space(64).Put(0x06, {0, 0}).Parsed();
  ASSERT_TRUE(without_list.ok());
  EXPECT_TRUE(without_list->capabilities_known);
  EXPECT_TRUE(without_list->extended_known);
  const auto without_express = Space(256).Put(0x60, {0x05, 0}).Parsed();
  ASSERT_TRUE(without_express.ok());
  EXPECT_TRUE(without_express->extended_known);
}

TEST(PciConfig, ListsThatRunInCirclesOrAstrayEnd) {
  EXPECT_TRUE(Space().Express(0x60, 0x60).Parsed()->express);
  EXPECT_TRUE(Space().Put(0x60, {0x05, 0x70}).Put(0x70, {0x05, 0x60}).Parsed().ok());
  EXPECT_TRUE(Space().Put(0x34, {0x08}).Parsed().ok()) << "within the header";
  EXPECT_TRUE(Space().Put(0x60, {0xff, 0xff}).Parsed()->capabilities_known);
  Space circle;
  circle.Express(0x60, 0).Extended(0x100, 0x0b, 0x200).Extended(0x200, 0x0b, 0x100);
  EXPECT_TRUE(circle.Parsed()->extended_known);
  Space end;
  end.Express(0x60, 0).Extended(0x100, 0x0d, 0xffc).Extended(0xffc, 0x0d, 0);
  EXPECT_FALSE(end.Parsed()->extended_known) << "its registers would be beyond the space";
  Space astray;
  astray.Express(0xf8, 0).Put(0x34, {0xf8});
  EXPECT_TRUE(astray.Parsed().ok());
}

TEST(PciConfig, AFunctionThatIsGoneReadsAsOnes) {
  Space space;
  space.Put(0, std::vector<std::uint8_t>(4096, 0xff));
  EXPECT_EQ(space.Parsed().status().code(), Code::kUnavailable);
  EXPECT_EQ(Space(40).Parsed().status().code(), Code::kDataLoss);
  EXPECT_EQ(Space(0).Parsed().status().code(), Code::kDataLoss);
}

TEST(PciConfig, AVirtualFunctionHasNoIdsOfItsOwn) {
  const auto config = Space().Put(0, {0xff, 0xff, 0xff, 0xff}).Express(0x60, 0).Parsed();
  ASSERT_TRUE(config.ok());
  EXPECT_TRUE(config->express);
}

TEST(PciConfig, IsReadFromTheFileOfThatName) {
  testing::TempTree tree;
  tree.File("function/config", Space().Express(0x60, 0).Content()).Directory("other");
  const Dir root = *Dir::Open(tree.path());
  EXPECT_TRUE(ReadPciConfig(*root.Sub("function"))->express);
  EXPECT_EQ(ReadPciConfig(*root.Sub("other")).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace fabric::host
