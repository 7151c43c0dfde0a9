// Pace of requests, codec of management packets, and the file of the M_Key.
#include "agents/subnet/pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "agents/subnet/m_key.h"
#include "subnet/mad/attributes.h"
#include "subnet/mad/bytes.h"
#include "tests/testing/temp_tree.h"

namespace fabric::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr SteadyTime kBegin{std::chrono::hours(1)};

TEST(Pace, SendsNoMoreThanItsRate) {
  Pace pace({.smps = 4, .gmps = 16, .per_second = 1000});
  int sent = 0;
  for (int ms = 0; ms < 2000; ++ms)
    while (pace.Take(kBegin + std::chrono::milliseconds(ms))) ++sent;
  EXPECT_NEAR(sent, 2000, 25);
}

TEST(Pace, IsHalvedByLossesAndRecovers) {
  Pace pace({.smps = 8, .gmps = 16, .per_second = 1000});
  SteadyTime now = kBegin;
  EXPECT_TRUE(pace.Take(now));
  for (int i = 0; i < 100; ++i) pace.OnAnswer(now);
  for (int i = 0; i < 3; ++i) pace.OnLoss(now);
  EXPECT_EQ(pace.smps(), 4U);
  EXPECT_EQ(pace.per_second(), 500U);
  for (int i = 0; i < 100; ++i) pace.OnLoss(now);
  EXPECT_EQ(pace.smps(), 1U) << "an eighth at least";
  for (int second = 0; second < 60; ++second, now += std::chrono::seconds(1))
    for (int i = 0; i < 256; ++i) pace.OnAnswer(now);
  EXPECT_EQ(pace.smps(), 8U);
}

TEST(Pace, ALossInAThousandIsUsual) {
  Pace pace({.smps = 4, .gmps = 16, .per_second = 1000});
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 999; ++j) pace.OnAnswer(kBegin);
    pace.OnLoss(kBegin);
  }
  EXPECT_EQ(pace.smps(), 4U);
}

TEST(Pace, IsHalvedWhenSwitchesDropPackets) {
  Pace pace({.smps = 4, .gmps = 16, .per_second = 5000});
  pace.OnDropped(kBegin);
  EXPECT_EQ(pace.gmps(), 8U);
}

TEST(Mad, ARequestHasItsRouteAndKey) {
  const std::uint8_t route[] = {1, 17, 3};
  const subnet::Mad mad = subnet::Encode({.attribute = subnet::Attribute::kPortInfo,
                                          .modifier = 5,
                                          .transaction = 0x11223344,
                                          .m_key = 0xabcdef,
                                          .route = route});
  EXPECT_EQ(mad[1], 0x81);
  EXPECT_EQ(mad[3], 1) << "Get";
  EXPECT_EQ(mad[7], 3) << "hops";
  EXPECT_EQ(mad[129], 1);
  EXPECT_EQ(mad[131], 3);
  EXPECT_EQ(subnet::Load<std::uint64_t>(mad, 24), 0xabcdefU);
  EXPECT_EQ(subnet::Load<std::uint32_t>(mad, 32), 0xffffffffU);
  EXPECT_EQ(subnet::TransactionOf(mad), 0x11223344U);
  EXPECT_FALSE(subnet::Decode(mad)) << "a request is no answer";
}

TEST(Mad, TheDirectionBitIsNoError) {
  subnet::Mad mad = subnet::Encode({.transaction = 7});
  mad[3] = 0x81;
  mad[4] = 0x80;
  ASSERT_TRUE(subnet::Decode(mad));
  EXPECT_EQ(subnet::Decode(mad)->status, 0);
}

TEST(PortInfo, ReadsWidthsAndSpeeds) {
  subnet::MadData data{};
  data[29] = 3;           // Enabled 1x and 4x
  data[31] = 2;           // 4x
  data[35] = 4 << 4 | 7;  // QDR active
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->active), "4xQDR");
  data[62] = 8 << 4;  // NDR, but the capability bit is not set
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->active), "4xQDR");
  data[22] = 0x40;
  data[63] = 30;  // No extended speed enabled
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->active), "4xNDR");
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->enabled), "4xQDR");
  data[56] = 1 << 5 | 1 << 3 | 1;  // XDR: active, supported and enabled
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->active), "4xXDR");
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->enabled), "4xXDR");
  data[56] = 1 << 3 | 1;  // The link came up slower than XDR.
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->active), "4xNDR");
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->enabled), "4xXDR");
  data[56] = 1 << 3 | 6;  // Disabled
  EXPECT_EQ(ToString(subnet::ReadPortInfo(data)->enabled), "4xQDR");
}

TEST(NodeDescription, IsText) {
  subnet::MadData data{};
  const std::string text = "leaf\x01-\xff-7";
  std::copy(text.begin(), text.end(), data.begin());
  EXPECT_EQ(subnet::ReadNodeDescription(data), "leaf?-?-7");
}

TEST(MKeyFile, NeedsAModeThatExcludesOthers) {
  const fabric::testing::TempTree tree;
  const std::string path = tree.path() + "/key";
  std::ofstream(path) << "0x1122334455667788\n";
  chmod(path.c_str(), 0600);
  ASSERT_TRUE(ReadMKey(path).ok());
  EXPECT_EQ(*ReadMKey(path), 0x1122334455667788U);
  chmod(path.c_str(), 0640);
  EXPECT_THAT(ReadMKey(path).status().message(), HasSubstr("saw mode 0640"));
  chmod(path.c_str(), 0600);
  std::ofstream(path) << "not a key";
  EXPECT_THAT(ReadMKey(path).status().message(),
              AllOf(HasSubstr("expected an M_Key"), Not(HasSubstr("not a key"))));
  EXPECT_FALSE(ReadMKey(tree.path()).ok());
}

}  // namespace
}  // namespace fabric::agent
