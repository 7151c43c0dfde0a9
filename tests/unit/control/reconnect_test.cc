// Agents that come back: what is sent again, and when.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include "daemon/control/sessions.h"
#include "proto/settings_digest.h"
#include "proto/snapshot_change.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ControlWorld;

class ReconnectTest : public ::testing::Test {
 protected:
  Status Say(std::uint64_t session, const v1::AgentMessage& message) {
    return world_.controller->OnMessage(SessionId(session), message, world_.agents.now());
  }
  // The answer to Hello.
  v1::ControllerMessage Hello(std::uint64_t session, const std::string& node,
                              std::optional<std::uint64_t> digest = {}) {
    v1::AgentMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.mutable_node()->set_name(node);
    hello.mutable_node()->set_machine_id("machine-" + node);
    hello.set_protocol_version(2);
    if (digest) hello.set_settings_digest(*digest);
    said_ = Say(session, message);
    for (auto& [to, answer] : world_.agents.TakeOthers())
      if (to == SessionId(session)) return answer;
    return {};
  }
  v1::NodeSnapshot Stored(const std::string& name) {
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    EXPECT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
    return response.snapshot();
  }
  std::size_t Requests() {
    std::size_t count = 0;
    for (const auto& [to, message] : world_.agents.TakeOthers())
      count += message.has_snapshot_request() ? 1 : 0;
    return count;
  }

  ControlWorld world_;
  Status said_;
};

TEST_F(ReconnectTest, KnownSettingsAreNotSentAgain) {
  world_.ConnectNodes(2);
  const std::uint64_t digest = SettingsDigest(Stored("n1"));
  world_.agents.Disconnect("n1", "reset");
  const v1::Welcome welcome = Hello(900, "n1", digest).welcome();
  EXPECT_TRUE(welcome.settings_known());
  EXPECT_FALSE(welcome.wait_for_request());
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_LOST) << "until it says that they hold";
  v1::AgentMessage confirmation;
  confirmation.mutable_change()->mutable_taken_at()->set_seconds(1'800'000'100);
  ASSERT_TRUE(Say(900, confirmation).ok());
  EXPECT_EQ(world_.Node("n1").state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(world_.log.Lines().back(), "node n1 connected");
  EXPECT_EQ(SettingsDigest(Stored("n1")), digest);
}

TEST_F(ReconnectTest, AfterARestartTheFileHasTheSettings) {
  world_.ConnectNodes(3);
  const std::uint64_t digest = SettingsDigest(Stored("n2"));
  world_.Restart();
  EXPECT_TRUE(Hello(900, "n2", digest).welcome().settings_known());
  EXPECT_FALSE(Hello(901, "n1", digest).welcome().settings_known()) << "those of another node";
  EXPECT_FALSE(Hello(902, "n3").welcome().settings_known()) << "an agent that has just started";
}

TEST_F(ReconnectTest, ACounterSampleBeforeTheTableRequestsASnapshot) {
  world_.ConnectNodes(1);
  const std::uint64_t digest = SettingsDigest(Stored("n1"));
  world_.agents.Disconnect("n1", "reset");
  ASSERT_TRUE(Hello(900, "n1", digest).welcome().settings_known());
  v1::AgentMessage sample;
  sample.mutable_counter_sample()->set_table_id(1);
  ASSERT_TRUE(Say(900, sample).ok());
  EXPECT_EQ(Requests(), 1u);
}

TEST_F(ReconnectTest, CompleteSnapshotsComeByInvitation) {
  const std::size_t at_once = Sessions::kSnapshotsAtOnce;
  const std::size_t all = at_once + 5;
  for (std::size_t n = 1; n <= all; ++n) {
    const v1::Welcome welcome = Hello(900 + n, "n" + std::to_string(n)).welcome();
    EXPECT_EQ(welcome.wait_for_request(), n > at_once) << n;
  }
  v1::AgentMessage snapshot;
  *snapshot.mutable_snapshot() = testing::RoceNode({.number = 1});
  ASSERT_TRUE(Say(901, snapshot).ok());
  EXPECT_EQ(Requests(), 1u) << "one has arrived";
  world_.controller->OnGone(SessionId(902), "reset", world_.agents.now());
  EXPECT_EQ(Requests(), 1u) << "one does not come";
  world_.agents.Advance(1s);
  EXPECT_EQ(Requests(), 0u);
  world_.agents.PassUnheard(Sessions::kSnapshotWithin);
  world_.agents.Advance(100ms);
  EXPECT_EQ(Requests(), 3u) << "the others do not wait for agents that are stuck";
}

TEST_F(ReconnectTest, TheSpreadOfDialsGrowsWithTheFleet) {
  world_.ConnectNodes(40);
  EXPECT_EQ(Hello(900, "other").welcome().reconnect_spread_ms(), 120u);
}

TEST_F(ReconnectTest, AnAgentThatIsRefusedComesBackLater) {
  world_.ConnectNodes(1);
  (void)world_.agents.TakeOthers();
  v1::AgentMessage message;
  message.mutable_hello()->mutable_node()->set_name("n1");
  message.mutable_hello()->mutable_node()->set_machine_id("another");
  EXPECT_EQ(Say(900, message).code(), Code::kAlreadyExists);
  const auto others = world_.agents.TakeOthers();
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].second.retry_later().after_ms(), 60'000u);
}

TEST(SettingsDigest, CountsSettingsAlone) {
  const v1::NodeSnapshot node = testing::RoceNode({.number = 1});
  v1::NodeSnapshot later = node;
  later.mutable_taken_at()->set_seconds(9);
  later.clear_counters();
  EXPECT_EQ(SettingsDigest(node), SettingsDigest(later));
  v1::NodeSnapshot other = node;
  other.mutable_net_interfaces(0)->set_mtu_bytes(1234);
  EXPECT_NE(SettingsDigest(node), SettingsDigest(other));
  other = node;
  other.mutable_rdma_devices()->SwapElements(0, 1);
  EXPECT_NE(SettingsDigest(node), SettingsDigest(other));
}

// Agent and controller apply the same change.
TEST(SettingsDigest, IsThatOfBothEndsAfterAChange) {
  v1::NodeSnapshot agent = testing::RoceNode({.number = 1});
  v1::NodeSnapshot controller = agent;
  v1::NodeSnapshot now = agent;
  now.mutable_net_interfaces(1)->set_mtu_bytes(1234);
  now.add_rdma_devices()->set_name("a_new_one");
  const auto change = Difference(agent, now);
  ASSERT_TRUE(change);
  Apply(*change, agent);
  Apply(*change, controller);
  EXPECT_EQ(SettingsDigest(agent), SettingsDigest(controller));
  EXPECT_NE(SettingsDigest(agent), SettingsDigest(testing::RoceNode({.number = 1})));
}

}  // namespace
}  // namespace fabric::control
