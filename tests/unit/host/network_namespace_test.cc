// Against the real kernel; needs CAP_SYS_ADMIN, which continuous integration has as root.
#include "agents/host/network_namespace.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "agents/host/sysfs.h"
#include "base/text.h"

namespace fabric::host {
namespace {

using ::testing::HasSubstr;

// A process in a network namespace of its own, as long as this lives.
class Neighbour {
 public:
  Neighbour() {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const char done = ::unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
      (void)!::write(ready[1], &done, 1);
      ::pause();
      ::_exit(0);
    }
    char answer = 'n';
    (void)!::read(ready[0], &answer, 1);
    able_ = answer == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Neighbour() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  bool able() const { return able_; }
  std::string path() const { return Format("/proc/{}/ns/net", pid_); }

 private:
  pid_t pid_ = -1;
  bool able_ = false;
};

std::string Netdevs() {
  const Result<Dir> root = Dir::Open("/");
  const Result<Dir> dir = root.ok() ? root->Sub("sys/class/net") : root.status();
  const auto names = dir.ok() ? dir->Names() : Result<std::vector<std::string>>(dir.status());
  return names.ok() ? Join(*names, " ") : names.status().message();
}

std::string File(const std::string& path) {
  const Result<Dir> root = Dir::Open("/");
  const Result<std::string> text = root->Whole(path);
  return text.ok() ? *text : text.status().message();
}

TEST(NetworkNamespace, IsSeenFromWithin) {
  const Neighbour neighbour;
  if (!neighbour.able()) GTEST_SKIP() << "needs CAP_SYS_ADMIN to make a network namespace";
  const auto seen = InNetworkNamespace(neighbour.path(), Netdevs);
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_EQ(*seen, "lo") << "sysfs";
  const auto routes = InNetworkNamespace(neighbour.path(), [] { return File("proc/net/dev"); });
  ASSERT_TRUE(routes.ok());
  EXPECT_EQ(Split(*routes, '\n').size(), 4U) << "two lines of header, lo, the end: " << *routes;
}

TEST(NetworkNamespace, LeavesTheCallerAndItsMountsAlone) {
  const Neighbour neighbour;
  if (!neighbour.able()) GTEST_SKIP() << "needs CAP_SYS_ADMIN to make a network namespace";
  const std::string mounts = File("proc/self/mountinfo");
  const std::string netdevs = Netdevs();
  const auto inside = InNetworkNamespace(neighbour.path(), [] { return File("proc/self/mounts"); });
  ASSERT_TRUE(inside.ok());
  EXPECT_THAT(*inside, HasSubstr("sysfs /sys sysfs ro,"));
  EXPECT_EQ(File("proc/self/mountinfo"), mounts);
  EXPECT_EQ(Netdevs(), netdevs);
}

TEST(NetworkNamespace, ALongAnswerComesWhole) {
  const auto answer =
      InNetworkNamespace("/proc/self/ns/net", [] { return std::string(3'000'000, 'x'); });
  if (answer.status().code() == Code::kPermissionDenied) GTEST_SKIP() << "needs CAP_SYS_ADMIN";
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->size(), 3'000'000U);
}

TEST(NetworkNamespace, WhatIsNoneIsSaid) {
  const auto missing = InNetworkNamespace("/proc/self/ns/nothing", Netdevs);
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  const auto file = InNetworkNamespace("/proc/self/status", Netdevs);
  EXPECT_FALSE(file.ok());
}

TEST(NetworkNamespace, AChildThatDiesIsSaid) {
  const auto died = InNetworkNamespace("/proc/self/ns/net", []() -> std::string { ::_exit(3); });
  if (died.status().code() == Code::kPermissionDenied) GTEST_SKIP() << "needs CAP_SYS_ADMIN";
  EXPECT_EQ(died.status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace fabric::host
