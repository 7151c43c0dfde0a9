#include "agents/host/capabilities.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace fabric::host {
namespace {

// The effective capabilities of the calling thread, a bit each.
std::uint64_t Effective() {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("CapEff:")) return std::stoull(line.substr(7), nullptr, 16);
  return 0;
}

constexpr std::uint64_t kNetRaw = 1 << 13;

// In a child: capabilities do not come back.
TEST(Capabilities, NetRawIsGivenUpByAllThreadsToCome) {
  const pid_t child = fork();
  if (child == 0) {
    const std::uint64_t before = Effective();
    const bool kept = !(before & kNetRaw) || !DropNetRaw().ok();  // No packet socket is open.
    (void)socket(AF_PACKET, SOCK_RAW, 0);
    const bool dropped = kept && DropNetRaw().ok() && DropNetRaw().ok();
    std::uint64_t after = ~std::uint64_t{0};
    std::jthread([&] { after = Effective(); }).join();
    const bool refused = socket(AF_PACKET, SOCK_RAW, 0) < 0;
    _exit(dropped && refused && after == (before & ~kNetRaw) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace fabric::host
