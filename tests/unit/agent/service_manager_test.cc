#include "agents/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "tests/testing/temp_tree.h"

namespace fabric::agent {
namespace {

TEST(ServiceManager, SendsAssignmentsToTheSocket) {
  const testing::TempTree tree;
  const std::string path = tree.path() + "/notify";
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);

  ServiceManager(path, "").Notify("READY=1");

  char text[16] = {};
  EXPECT_EQ(recv(fd, text, sizeof text, MSG_DONTWAIT), 7);
  EXPECT_STREQ(text, "READY=1");
  close(fd);
}

TEST(ServiceManager, NobodyListeningIsFine) {
  ServiceManager("", "").Notify("READY=1");
  ServiceManager("/nowhere/notify", "").Notify("READY=1");
  ServiceManager(std::string(500, 'x'), "").Notify("READY=1");
}

TEST(ServiceManager, FeedsTheWatchdogTwiceAsOftenAsNeeded) {
  EXPECT_EQ(ServiceManager("", "3000000").watchdog_interval(), std::chrono::milliseconds(1500));
  EXPECT_EQ(ServiceManager("", "").watchdog_interval(), Duration::zero());
  EXPECT_EQ(ServiceManager("", "soon").watchdog_interval(), Duration::zero());
  EXPECT_EQ(ServiceManager("", "-5").watchdog_interval(), Duration::zero());
}

}  // namespace
}  // namespace fabric::agent
