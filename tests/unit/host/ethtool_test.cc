#include "agents/host/ethtool.h"

#include <gtest/gtest.h>

#include "agents/host/sysfs.h"

namespace fabric::host {
namespace {

TEST(LiveEthtool, UnknownNetdevIsNotFound) {
  const auto ethtool = OpenEthtool();
  for (const char* name : {"", "no-such0", "sixteen-letters-"}) {
    EXPECT_EQ(ethtool->Driver(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->Statistics(name).status().code(), Code::kNotFound) << name;
    EXPECT_EQ(ethtool->Pause(name).status().code(), Code::kNotFound) << name;
  }
  EXPECT_EQ(ethtool->Driver("no-such0").status().message(),
            "ethtool driver of no-such0: No such device");
}

TEST(LiveEthtool, LoopbackReportsNothing) {
  const auto ethtool = OpenEthtool();
  EXPECT_EQ(ethtool->Driver("lo").status().code(), Code::kUnimplemented);
  EXPECT_EQ(ethtool->Statistics("lo").status().code(), Code::kUnimplemented);
  EXPECT_EQ(ethtool->Pause("lo").status().code(), Code::kUnimplemented);
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
}

}  // namespace
}  // namespace fabric::host
