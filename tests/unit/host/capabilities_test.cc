#include "agents/host/capabilities.h"

#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "agents/host/lldp/lldp.h"

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
bool HoldsInChild(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Capabilities, NetRawIsGivenUpByAllThreadsToCome) {
  EXPECT_TRUE(HoldsInChild([] {
    const std::uint64_t before = Effective();
    const bool dropped = DropNetRaw().ok() && DropNetRaw().ok();
    std::uint64_t after = ~std::uint64_t{0};
    std::jthread([&] { after = Effective(); }).join();
    const bool refused = OpenLldpSocket().status().code() == Code::kPermissionDenied;
    return dropped && refused && after == (before & ~kNetRaw);
  }));
}

// An LLDP frame to the nearest bridge: chassis, port and TTL.
constexpr auto kFrame = std::to_array<std::uint8_t>(
    {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x88, 0xcc,  //
     0x02, 0x07, 0x04, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01,                                //
     0x04, 0x03, 0x05, 0x70, 0x31, 0x06, 0x02, 0x00, 0x78, 0x00, 0x00});

bool SendOnLoopback(const Fd& socket) {
  sockaddr_ll to{};
  to.sll_family = AF_PACKET;
  to.sll_protocol = htons(ETH_P_LLDP);
  to.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
  return sendto(socket.get(), kFrame.data(), kFrame.size(), 0, reinterpret_cast<sockaddr*>(&to),
                sizeof(to)) == static_cast<ssize_t>(kFrame.size());
}

// As an inspecting thread of the agent: with interfaces of its own, opened after the drop.
bool ReceivesOnNewThread(int socket, const Fd& sender) {
  bool received = false;
  std::jthread([&] {
    const auto lldp = OpenLldp({}, nullptr, socket);
    const std::vector<std::string> netdevs = {"lo"};
    if (!lldp->Neighbors(netdevs).ok() || !SendOnLoopback(sender)) return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!received && std::chrono::steady_clock::now() < until)
      received = lldp->Neighbors(netdevs)->neighbors.size() == 1;
  }).join();
  return received;
}

TEST(Capabilities, LldpNeighborsAreReceivedAfterNetRawIsGivenUp) {
  if (!OpenLldpSocket().ok()) GTEST_SKIP() << "needs CAP_NET_RAW";
  EXPECT_TRUE(HoldsInChild([] {
    const auto sender = OpenLldpSocket();
    const auto socket = OpenLldpSocket();
    if (!sender.ok() || !socket.ok() || !DropNetRaw().ok()) return false;
    const std::vector<std::string> netdevs = {"lo"};
    const Status alone = OpenLldp({}, nullptr)->Neighbors(netdevs).status();
    return alone.code() == Code::kPermissionDenied && ReceivesOnNewThread(socket->get(), *sender) &&
           ReceivesOnNewThread(socket->get(), *sender);  // The one that replaces a blocked thread
  }));
}

}  // namespace
}  // namespace fabric::host
