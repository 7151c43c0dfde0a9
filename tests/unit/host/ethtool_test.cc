#include "agents/host/ethtool.h"

#include <gtest/gtest.h>

#include <vector>

#include "agents/host/sysfs.h"

namespace fabric::host {
namespace {

TEST(LiveEthtool, UnknownNetdevIsNotFound) {
  const auto ethtool = OpenEthtool();
  for (const char* name : {"", "no-such0", "sixteen-letters-"}) {
    EXPECT_EQ(ethtool->Driver(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->Statistics(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->Pause(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->Link(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->Fec(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->PfcStormPreventionMs(name).status().code(), Code::kNotFound) << name;
  }
  EXPECT_EQ(ethtool->Driver("no-such0").status().message(),
            "ethtool driver of no-such0: No such device");
}

TEST(LiveEthtool, LoopbackReportsNothing) {
  const auto ethtool = OpenEthtool();
  EXPECT_EQ(ethtool->Driver("lo").status().code(), Code::kUnimplemented);
  EXPECT_EQ(ethtool->Statistics("lo").status().code(), Code::kUnimplemented);
  EXPECT_EQ(ethtool->Pause("lo").status().code(), Code::kUnimplemented);
  EXPECT_EQ(ethtool->PfcStormPreventionMs("lo").status().code(), Code::kUnimplemented);
}

// Whatever the netdevs of this machine are: they answer or say that they do not.
TEST(LiveEthtool, EveryNetdevAnswersOrDeclines) {
  const Result<Dir> net = Dir::Open("/")->Sub("sys/class/net");
  if (!net.ok()) GTEST_SKIP() << net.status().message();
  const auto ethtool = OpenEthtool();
  int answered = 0;
  const std::vector<std::string> names = *net->Names();
  for (const std::string& name : names) {
    if (!net->Has(name + "/mtu")) continue;  // "bonding_masters" is no netdev.
    const auto driver = ethtool->Driver(name);
    if (driver.ok()) {
      ++answered;
      EXPECT_FALSE(driver->driver.empty()) << name;
    } else {
      EXPECT_EQ(driver.status().code(), Code::kUnimplemented) << driver.status().message();
    }
    const auto statistics = ethtool->Statistics(name);
    if (statistics.ok()) {
      ++answered;
      for (const NamedCounter& counter : *statistics) EXPECT_FALSE(counter.name.empty()) << name;
    } else {
      EXPECT_EQ(statistics.status().code(), Code::kUnimplemented) << statistics.status().message();
    }
  }
  if (answered == 0) GTEST_SKIP() << "no netdev of this machine has ethtool";
}

TEST(NoEthtool, RefusesEverything) {
  EXPECT_EQ(NoEthtool()->Driver("eth0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(NoEthtool()->Statistics("eth0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(NoEthtool()->Pause("eth0").status().code(), Code::kUnimplemented);
  EXPECT_EQ(NoEthtool()->PfcStormPreventionMs("eth0").status().code(), Code::kUnimplemented);
}

std::vector<std::uint32_t> LinkModeBits(const std::vector<std::uint32_t>& bits) {
  std::vector<std::uint32_t> words(4);
  for (const std::uint32_t bit : bits) words[bit / 32] |= 1U << (bit % 32);
  return words;
}

TEST(LinkModes, TellTheFastestSpeedAndTheLanesOfTheSpeedInUse) {
  // 25000baseCR, 100000baseCR4, 200000baseCR4, 400000baseCR4, 400000baseSR4; autonegotiation
  const auto modes = LinkModeBits({31, 38, 66, 89, 86, 6});
  const LinkSettings link = DecodeLinkModes(200'000, modes);
  EXPECT_EQ(link.speed_bps, 200'000'000'000u);
  EXPECT_EQ(link.speed_max_bps, 400'000'000'000u);
  EXPECT_EQ(link.lanes, 4u);
}

TEST(LinkModes, LanesAreUnknownWhereModesOfTheSpeedDiffer) {
  const auto modes = LinkModeBits({38, 59, 78});  // 100000baseCR4, CR2 and CR
  EXPECT_EQ(DecodeLinkModes(100'000, modes).lanes, std::nullopt);
  EXPECT_EQ(DecodeLinkModes(100'000, modes).speed_max_bps, 100'000'000'000u);
}

TEST(LinkModes, SpeedOfADownedLinkIsUnknown) {
  for (const std::uint32_t speed : {0U, 0xffffffffU}) {
    const LinkSettings link = DecodeLinkModes(speed, LinkModeBits({115, 92}));
    EXPECT_EQ(link.speed_bps, std::nullopt);
    EXPECT_EQ(link.speed_max_bps, 800'000'000'000u);  // 800000baseCR4, of later kernels
  }
  EXPECT_EQ(DecodeLinkModes(1'000, {}).speed_max_bps, std::nullopt);
}

}  // namespace
}  // namespace fabric::host
