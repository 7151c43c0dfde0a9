#include "base/systemd.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

TEST(NotifySystemd, SaysNothingWithoutASocket) {
  EXPECT_TRUE(NotifySystemd(nullptr, "READY=1").ok());
}

TEST(NotifySystemd, TheStateReachesTheSocket) {
  const testing::TempTree tree;
  const std::string path = tree.path() + "/notify";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const Status status = NotifySystemd(path.c_str(), "READY=1");
  EXPECT_TRUE(status.ok()) << status.message();
  char text[32];
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(recv(fd, text, sizeof(text), MSG_DONTWAIT))),
            "READY=1");
  close(fd);
}

TEST(NotifySystemd, ASocketThatIsNotThereIsNamed) {
  EXPECT_EQ(NotifySystemd("/nowhere/notify", "READY=1").code(), Code::kNotFound);
  EXPECT_EQ(NotifySystemd("", "READY=1").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace fabric
