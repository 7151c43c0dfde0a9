#include "agents/host/call_watch.h"

#include <gtest/gtest.h>

namespace fabric::host {
namespace {

std::string Name() {
  return "/sys/class/net/eth0/mtu";
}

TEST(WatchedCall, IsSeenWhileItLives) {
  CallWatch watch;
  const CallWatch::Here here(watch);
  EXPECT_EQ(watch.progress().call, "");
  {
    const WatchedCall call(Name);
    EXPECT_TRUE(call.status().ok());
    EXPECT_EQ(watch.progress().call, Name());
    EXPECT_EQ(watch.progress().steps, 1U);
  }
  EXPECT_EQ(watch.progress().call, "");
  EXPECT_EQ(watch.progress().steps, 2U);
}

TEST(WatchedCall, OfAThreadThatNobodyWatchesHasNoName) {
  const WatchedCall call([]() -> std::string {
    ADD_FAILURE() << "a name that nobody reads";
    return "";
  });
  EXPECT_TRUE(call.status().ok());
}

TEST(WatchedCall, FailsWhenItIsToBeAvoided) {
  struct Case {
    std::string avoided;
    bool fails;
  };
  for (const Case& c :
       {Case{"/sys/class/net/eth0/mtu", true}, Case{"/sys/class/net/eth0/", true},
        Case{"/sys/class/net/eth0/mt", false}, Case{"/sys/class/net/eth00/", false}}) {
    CallWatch watch;
    const CallWatch::Here here(watch);
    watch.Avoid({"eth7/ethtool driver", c.avoided});
    const WatchedCall call(Name);
    EXPECT_EQ(call.status().code(), c.fails ? Code::kDeadlineExceeded : Code::kOk) << c.avoided;
  }
}

TEST(WatchedCall, FailsWhenAllAreToBeAvoided) {
  CallWatch watch;
  const CallWatch::Here here(watch);
  watch.AvoidAll();
  EXPECT_EQ(WatchedCall(Name).status().code(), Code::kDeadlineExceeded);
}

TEST(DeviceOfCall, IsWhatCallsAboutTheSameDeviceBeginWith) {
  struct Case {
    std::string call;
    std::string device;
  };
  for (const Case& c : {
           Case{"/sys/class/infiniband/mlx5_0/ports/1/rate", "/sys/class/infiniband/mlx5_0/"},
           Case{"/sys/class/net/eth0", "/sys/class/net/eth0/"},
           Case{"/captured/sys/class/net/eth0/mtu", "/captured/sys/class/net/eth0/"},
           Case{"/sys/bus/pci/devices/0000:17:00.0/vpd", "/sys/bus/pci/devices/0000:17:00.0/"},
           Case{"/sys/class/net/", "/sys/class/net/"},
           Case{"/proc/sys/kernel/hostname", "/proc/sys/kernel/"},
           Case{"eth0/ethtool driver", "eth0/"},
           Case{"netlink 22", ""},
       })
    EXPECT_EQ(DeviceOfCall(c.call), c.device);
}

}  // namespace
}  // namespace fabric::host
