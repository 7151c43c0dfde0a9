#include "proto/gaps.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

v1::Gap About(const std::string& path) {
  v1::Gap gap;
  gap.set_path(path);
  return gap;
}

TEST(Gaps, CoverWhatTheyNameAndWhatIsBelow) {
  EXPECT_TRUE(Covers(About("netlink dcb eth0"), "netlink dcb eth0"));
  EXPECT_TRUE(Covers(About("verbs query_port"), "verbs query_port mlx5_0 1"));
  EXPECT_TRUE(Covers(About("proc"), "proc/modules"));
  EXPECT_FALSE(Covers(About("proc"), "process"));
  EXPECT_FALSE(Covers(About("sys/class/net/eth0/mtu"), "sys/class/net/eth0"));
  EXPECT_FALSE(Covers(About(""), "proc/modules"));
}

TEST(Gaps, OfSeveralDevicesHaveAStar) {
  const v1::Gap gap = About("sys/class/infiniband/*/ports/*/gids");
  EXPECT_TRUE(Covers(gap, "sys/class/infiniband/mlx5_3/ports/1/gids"));
  EXPECT_TRUE(Covers(gap, "sys/class/infiniband/mlx5_3/ports/1/gids/0"));
  EXPECT_FALSE(Covers(gap, "sys/class/infiniband/mlx5_3/ports/1/pkeys"));
  EXPECT_FALSE(Covers(gap, "sys/class/infiniband/mlx5_3"));
}

TEST(Gaps, TouchWhatIsAboveThemToo) {
  EXPECT_TRUE(Touches(About("sys/a/*/gids/3"), "sys/a/b/gids"));
  EXPECT_TRUE(Touches(About("sys/a"), "sys/a/b/gids"));
  EXPECT_FALSE(Touches(About("sys/a/b/pkeys"), "sys/a/b/gids"));
  EXPECT_FALSE(Touches(About(""), "sys"));
}

}  // namespace
}  // namespace fabric
