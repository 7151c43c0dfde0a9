// Thread that reads a subnet for the controller.
#include "agents/subnet/subnet_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <vector>

#include "tests/unit/subnet_reader/fake_subnet.h"

namespace fabric::agent {
namespace {

using namespace std::chrono_literals;
using testing::FakeClock;
using testing::FakeSubnet;

constexpr Duration kPatience = 60s;  // The machine can be busy.

// Collects the messages of the thread.
class Receiver {
 public:
  void Take(const v1::AgentMessage& message) {
    const MutexLock lock(mutex_);
    parts_.push_back(message.subnet_part());
    changed_.notify_all();
  }
  std::vector<v1::SubnetPart> WaitFor(std::size_t parts) {
    MutexLock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&]() REQUIRES(mutex_) { return parts_.size() >= parts; });
    return parts_;
  }

 private:
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<v1::SubnetPart> parts_ GUARDED_BY(mutex_);
};

struct Site {
  Site() : made(subnet::testing::Make(subnet::testing::FatTree{})) { made.Route(); }

  SubnetThreadOptions Options() {
    return {.open = [this](const std::string& device,
                           std::uint32_t) -> Result<std::unique_ptr<MadTransport>> {
      if (device != "mlx5_0") return Status(Code::kNotFound, "no device " + device);
      return std::unique_ptr<MadTransport>(
          std::make_unique<FakeSubnet>(made, made.Find("gpu-1 mlx5_0"), clock));
    }};
  }
  static v1::SubnetOrder Order(const std::string& device) {
    v1::SubnetOrder order;
    order.set_device(device);
    order.set_port(1);
    order.set_interval_ms(60'000);
    return order;
  }

  FakeClock clock;
  subnet::testing::TestSubnet made;
  Receiver receiver;
};

TEST(SubnetThread, EachOrderBeginsWithAWholeSnapshot) {
  Site world;
  SubnetThread thread(world.Options(), world.clock,
                      [&](const v1::AgentMessage& message) { world.receiver.Take(message); });
  for (std::size_t i = 1; i <= 2; ++i) {
    thread.SetOrder(Site::Order("mlx5_0"));
    const auto parts = world.receiver.WaitFor(i);
    ASSERT_EQ(parts.size(), i);
    EXPECT_EQ(parts.back().device(), "mlx5_0");
    EXPECT_EQ(parts.back().port(), 1U);
    EXPECT_EQ(parts.back().base(), 0U);
    EXPECT_TRUE(parts.back().last());
    subnet::Assembly assembly;
    const Result<bool> complete = assembly.Add(parts.back());
    ASSERT_TRUE(complete.ok() && *complete);
    const auto encoded = subnet::Decompress(assembly.Take(), {});
    ASSERT_TRUE(encoded.ok());
    v1::SubnetSnapshot snapshot;
    ASSERT_TRUE(snapshot.ParseFromString(*encoded));
    EXPECT_EQ(static_cast<std::size_t>(snapshot.nodes_size()), world.made.Read().nodes().size());
  }
}

TEST(SubnetThread, AnErrorIsSent) {
  Site world;
  SubnetThreadOptions options = world.Options();
  SubnetThread thread(options, world.clock,
                      [&](const v1::AgentMessage& message) { world.receiver.Take(message); });
  thread.SetOrder(Site::Order("mlx5_7"));
  EXPECT_EQ(world.receiver.WaitFor(1).back().error(), "no device mlx5_7");
}

TEST(SubnetThread, AKeyFileThatCannotBeReadIsAnError) {
  Site world;
  SubnetThreadOptions options = world.Options();
  options.m_key = [] { return Status(Code::kPermissionDenied, "key: others can read it"); };
  SubnetThread thread(options, world.clock,
                      [&](const v1::AgentMessage& message) { world.receiver.Take(message); });
  thread.SetOrder(Site::Order("mlx5_0"));
  EXPECT_EQ(world.receiver.WaitFor(1).back().error(), "key: others can read it");
}

TEST(SubnetThread, EndsWithAndWithoutAnOrder) {
  Site world;
  {
    const SubnetThread idle(world.Options(), world.clock, [](const v1::AgentMessage&) {});
  }
  SubnetThread thread(world.Options(), world.clock,
                      [&](const v1::AgentMessage& message) { world.receiver.Take(message); });
  thread.SetOrder(Site::Order("mlx5_0"));
  EXPECT_FALSE(world.receiver.WaitFor(1).empty());
  thread.SetOrder({});
}

}  // namespace
}  // namespace fabric::agent
