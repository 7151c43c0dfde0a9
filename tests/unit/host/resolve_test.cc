#include "agents/host/resolve.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <thread>

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

// What the file at `path` holds, or the errno of opening it.
std::string Opened(int root, const std::string& path) {
  int error = 0;
  const Result<Fd> fd = OpenInRoot(root, path, O_RDONLY, path, error);
  if (!fd.ok()) return std::to_string(error);
  char buffer[64] = {};
  const ssize_t size = ::read(fd->get(), buffer, sizeof(buffer));
  return size < 0 ? "a directory" : std::string(buffer, static_cast<std::size_t>(size));
}

// A copy in which links became files with their texts, all but one.
class TextLinks : public ::testing::Test {
 protected:
  TextLinks() {
    outside_.File("devices/card/vendor", "outside\n").File("vendor", "outside\n");
    tree_.File("sys/devices/card/vendor", "inside\n");
    tree_.File("sys/devices/card/net/eth0/device", "../../../card");
    tree_.Link("sys/class/net/eth0", "../../devices/card/net/eth0");
    tree_.File("sys/class/a", "../class/b").File("sys/class/b", "../class/a");
    tree_.Link("sys/escape", outside_.path());
    tree_.Link("sys/up", "../../../../../../../.." + outside_.path());
    tree_.File("sys/text", "../sys/escape");
    root_ = Fd(::open(tree_.path().c_str(), O_PATH | O_DIRECTORY));
  }

  void ExpectAllWithin() {
    EXPECT_EQ(Opened(root_.get(), "sys/class/net/eth0/device/vendor"), "inside\n");
    EXPECT_EQ(Opened(root_.get(), "sys/class/a/vendor"), std::to_string(ELOOP));
    for (const char* path : {"sys/escape/vendor", "sys/up/vendor", "sys/text/vendor",
                             "sys/text/devices/card/vendor", "sys/escape/devices/card/vendor"})
      EXPECT_EQ(Opened(root_.get(), path), std::to_string(ENOENT)) << path;
  }

  testing::TempTree outside_;
  testing::TempTree tree_;
  Fd root_;
};

TEST_F(TextLinks, AreFollowedFromWhereRealLinksLead) {
  ExpectAllWithin();
}

// Makes openat2() fail on this thread as on a kernel before 5.6.
bool RemoveOpenat2() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = std::size(program), .filter = program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(TextLinks, StayInTheTreeWithoutOpenat2) {
  std::thread([&] {
    if (RemoveOpenat2()) ExpectAllWithin();
  }).join();
}

TEST_F(Resolve, WithoutOpenat2TheSameIsOpened) {
  for (const char* path : {"sys/class/net/rail0/mtu", "sys/absolute", "sys/out", "loop", "grow",
                           "dangling", "sys/root/secret", "../secret", "secret/below"}) {
    const std::string expected = Opened(root_.get(), path);
    std::thread([&] {
      if (!RemoveOpenat2()) return;
      EXPECT_EQ(Opened(root_.get(), path), expected) << path;
    }).join();
  }
}

}  // namespace
}  // namespace fabric::host
