#include "agents/host/memory_limit.h"

#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

std::optional<std::uint64_t> LimitIn(const testing::TempTree& tree) {
  const auto root = Dir::Open(tree.path());
  EXPECT_TRUE(root.ok());
  return MemoryLimit(*root);
}

TEST(MemoryLimit, IsTheSmallestOfTheCgroupAndThoseAbove) {
  testing::TempTree tree;
  tree.File("proc/self/cgroup", "0::/system.slice/fabric-agent.service\n");
  tree.File("sys/fs/cgroup/system.slice/fabric-agent.service/memory.max", "268435456\n");
  tree.File("sys/fs/cgroup/system.slice/memory.max", "max\n");
  EXPECT_EQ(LimitIn(tree), 268435456u);
  tree.File("sys/fs/cgroup/memory.max", "1000\n");
  EXPECT_EQ(LimitIn(tree), 1000u);
}

TEST(MemoryLimit, Version1HasItsOwnFile) {
  testing::TempTree tree;
  tree.File("proc/self/cgroup", "12:pids:/a\n5:memory:/pod/c1\n");
  tree.File("sys/fs/cgroup/memory/pod/c1/memory.limit_in_bytes", "5000\n");
  tree.File("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(LimitIn(tree), 5000u);
}

TEST(MemoryLimit, IsEmptyWithoutALimit) {
  testing::TempTree tree;
  EXPECT_EQ(LimitIn(tree), std::nullopt);
  tree.File("proc/self/cgroup", "0::/../outside\n1:memory:/\n");
  tree.File("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(LimitIn(tree), std::nullopt);
}

}  // namespace
}  // namespace fabric::host
