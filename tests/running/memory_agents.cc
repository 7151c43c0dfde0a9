// Agents of healthy nodes in one process, whose RDMA devices are memory: the sessions, the runner
// and the kinds of probes are the agent's own. For tests that need a certificate that passes.
//
//   memory_agents HOST:PORT[,HOST:PORT...] COUNT [BROKEN]
//
// The nodes are n1 to nCOUNT. Requests towards the ports of the node BROKEN fail. Runs until
// standard input ends. The devices are soft-RoCE: memory has no rate that a certificate expects.
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/session/controller_side.h"
#include "agents/session/shared_state.h"
#include "base/clock.h"
#include "base/text.h"
#include "proto/timestamps.h"
#include "tests/testing/fake_verbs.h"
#include "tests/testing/nodes.h"

namespace fabric {
namespace {

constexpr int kSnapshotEveryMs = 5000;
constexpr std::uint32_t kCountMax = 64;

// The verbs of one node: all nodes have the same names of devices, the fabric needs different ones.
class NodeVerbs final : public host::Verbs {
 public:
  NodeVerbs(testing::FakeFabric& fabric, std::string node)
      : verbs_(fabric), node_(std::move(node)) {}
  Result<host::VerbsPort> QueryPort(const std::string& device, std::uint32_t port) override {
    return verbs_.QueryPort(Unique(device), port);
  }
  Result<host::VerbsDevice> QueryDevice(const std::string& device, std::uint32_t ports) override {
    return verbs_.QueryDevice(Unique(device), ports);
  }
  Result<std::unique_ptr<host::RcQueuePairs>> OpenRc(const host::RcOptions& options) override {
    host::RcOptions unique = options;
    unique.at.device = Unique(options.at.device);
    return verbs_.OpenRc(unique);
  }
  Result<std::unique_ptr<host::UdQueuePairs>> OpenUd(const host::UdOptions& options) override {
    host::UdOptions unique = options;
    unique.at.device = Unique(options.at.device);
    return verbs_.OpenUd(unique);
  }
  Result<bool> TakesDmaBuf(const std::string& device) override {
    return verbs_.TakesDmaBuf(Unique(device));
  }
  std::string Unique(const std::string& device) const { return node_ + "." + device; }

 private:
  testing::FakeVerbs verbs_;
  const std::string node_;
};

class MemoryNode {
 public:
  MemoryNode(std::uint32_t number, const std::vector<std::string>& controllers,
             testing::FakeFabric& fabric, const Clock& clock)
      : snapshot_(testing::LabNode({.number = number, .gpu = false})),
        verbs_(fabric, snapshot_.node().name()),
        clock_(clock),
        shared_({}),
        side_(controllers, nullptr, verbs_, {}, {}, clock, shared_) {
    // The GID with an IPv4 address is the last one, and the one that probes use.
    for (const v1::RdmaDevice& device : snapshot_.rdma_devices())
      fabric.SetGid(verbs_.Unique(device.name()), device.ports(0).gids().rbegin()->gid());
    Report();
  }
  void Report() {
    *snapshot_.mutable_taken_at() = ToProto(clock_.Now().wall);
    shared_.SetSnapshot(snapshot_, {});
    side_.inbox().OnSnapshot(snapshot_);
  }
  void Break(testing::FakeFabric& fabric) const {
    for (const v1::RdmaDevice& device : snapshot_.rdma_devices())
      fabric.Break(verbs_.Unique(device.name()), "transport retry counter exceeded (12)");
  }
  const std::string& name() const { return snapshot_.node().name(); }

 private:
  v1::NodeSnapshot snapshot_;
  NodeVerbs verbs_;
  const Clock& clock_;
  agent::SharedState shared_;
  agent::ControllerSide side_;
};

bool InputEnds(int milliseconds) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (::poll(&input, 1, milliseconds) <= 0) return false;
  std::array<char, 256> text{};
  return ::read(STDIN_FILENO, text.data(), text.size()) <= 0;
}

int Run(const std::vector<std::string>& controllers, std::uint32_t count,
        const std::string& broken) {
  const SystemClock clock;
  testing::FakeFabric fabric;
  std::vector<std::unique_ptr<MemoryNode>> nodes;
  for (std::uint32_t number = 1; number <= count; ++number) {
    nodes.push_back(std::make_unique<MemoryNode>(number, controllers, fabric, clock));
    if (nodes.back()->name() == broken) nodes.back()->Break(fabric);
  }
  while (!InputEnds(kSnapshotEveryMs))
    for (const auto& node : nodes) node->Report();
  return 0;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  const auto count = fabric::ParseNumber<std::uint32_t>(argc > 2 ? argv[2] : "");
  if (argc > 4 || !count.ok() || *count > fabric::kCountMax) {
    std::fputs("usage: memory_agents HOST:PORT[,HOST:PORT...] COUNT [BROKEN]\n", stderr);
    return 2;
  }
  std::vector<std::string> controllers;
  for (const std::string_view one : fabric::Split(argv[1], ',')) controllers.emplace_back(one);
  return fabric::Run(controllers, *count, argc > 3 ? argv[3] : "");
}
