#include "agents/host/resolve.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

class Resolve : public ::testing::Test {
 protected:
  Resolve() {
    tree_.File("sys/devices/rail0/mtu", "9000\n").File("secret", "inside\n");
    tree_.Link("sys/class/net/rail0", "../../devices/rail0");
    tree_.Link("sys/absolute", "/sys/class/net/rail0/mtu");
    tree_.Link("sys/out", "../../../../etc/passwd").Link("sys/root", "/");
    tree_.Link("loop", "loop").Link("grow", "grow/grow").Link("dangling", "sys/nothing");
    root_ = Fd(::open(tree_.path().c_str(), O_PATH | O_DIRECTORY));
  }
  std::string Path(const std::string& path, bool follow_last = true) {
    const Result<std::string> resolved = ResolveInRoot(root_.get(), path, follow_last, path);
    return resolved.ok() ? *resolved : std::string(CodeName(resolved.status().code()));
  }

  testing::TempTree tree_;
  Fd root_;
};

TEST_F(Resolve, FollowsLinksWithinTheTree) {
  EXPECT_EQ(Path("sys/class/net/rail0/mtu"), "sys/devices/rail0/mtu");
  EXPECT_EQ(Path("sys/class/net/rail0/../x"), "sys/devices/x");  // ".." of the target
  EXPECT_EQ(Path("sys/absolute"), "sys/devices/rail0/mtu");
  EXPECT_EQ(Path("sys//./root/secret"), "secret");
  EXPECT_EQ(Path("sys/root"), ".");
}

TEST_F(Resolve, NeverLeavesTheTree) {
  EXPECT_EQ(Path("sys/out"), "etc/passwd");
  EXPECT_EQ(Path("../../../secret"), "secret");
  EXPECT_EQ(Path("sys/root/../../secret"), "secret");
}

TEST_F(Resolve, KeepsTheLastLinkWhenAsked) {
  EXPECT_EQ(Path("sys/class/net/rail0", false), "sys/class/net/rail0");
  EXPECT_EQ(Path("sys/root/sys/absolute", false), "sys/absolute");
  EXPECT_EQ(Path("dangling"), "sys/nothing");
}

TEST_F(Resolve, LoopsEnd) {
  EXPECT_EQ(Path("loop"), "INVALID_ARGUMENT");
  EXPECT_EQ(Path("grow"), "INVALID_ARGUMENT");
  EXPECT_EQ(Path("loop", false), "loop");
  EXPECT_EQ(Path("secret/below"), "NOT_FOUND");
}

TEST_F(Resolve, AgreesWithTheKernel) {
  for (const char* path : {"sys/class/net/rail0/mtu", "sys/absolute", "sys/out", "loop", "grow",
                           "dangling", "sys/root/secret", "../secret", "secret/below"}) {
    int error = 0;
    const Result<Fd> opened = OpenInRoot(root_.get(), path, O_RDONLY, path, error);
    const Result<std::string> resolved = ResolveInRoot(root_.get(), path, true, path);
    const Fd by_hand(resolved.ok() ? ::openat(root_.get(), resolved->c_str(), O_RDONLY) : -1);
    EXPECT_EQ(opened.ok(), by_hand.get() >= 0) << path;
    EXPECT_EQ(opened.ok(), error == 0) << path;
  }
}

TEST_F(Resolve, BeneathADirectoryNoLinkIsFollowed) {
  const std::pair<const char*, int> outcomes[] = {
      {"secret", 0},   {"sys/class/nothing", ENOENT}, {"dangling", ELOOP},
      {"loop", ELOOP}, {"../secret", EXDEV},          {"secret/below", ENOTDIR}};
  for (const auto& [path, expected] : outcomes) {
    int error = 0;
    const Fd opened = OpenBeneath(root_.get(), path, O_RDONLY, error);
    EXPECT_EQ(error, expected) << path;
    EXPECT_EQ(opened.get() >= 0, expected == 0) << path;
  }
}

}  // namespace
}  // namespace fabric::host
