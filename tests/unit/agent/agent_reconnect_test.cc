// What an agent sends when it comes back, and when it does.
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/settings_digest.h"
#include "tests/unit/agent/agent_case.h"

namespace fabric::agent {
namespace {

// Disconnects and says Hello again. Returns Hello.
v1::Hello HelloAgain(Agent& agent, Output& output, Moment now) {
  agent.OnDisconnected(Status(Code::kUnavailable, "gone"), now);
  const Moment later{.steady = agent.next_tick(), .wall = now.wall};
  agent.Tick(later);
  output.Take();
  agent.OnConnected(later);
  v1::AgentMessage message;
  EXPECT_EQ(FromJson(output.Take().at(0).substr(5), message), Status());
  return message.hello();
}

TEST_F(AgentTest, SendsOnlyWhatHasChangedToAControllerThatKnowsTheRest) {
  Stream();
  agent.OnCounterTable(Rx(1));
  agent.OnCounterSample(RxSample(1, 10));
  output.Take();
  const v1::Hello hello = HelloAgain(agent, output, At(seconds(60)));
  EXPECT_EQ(hello.settings_digest(), SettingsDigest(Snapshot(4200, 0)));
  agent.OnSnapshot(Snapshot(1500, 1), At(seconds(61)));
  v1::ControllerMessage welcome;
  welcome.mutable_welcome()->set_settings_known(true);
  agent.OnMessage(welcome, At(seconds(61)));
  EXPECT_EQ(output.Take(), (Did{MtuChange(1500), TableSent(2, 10)}));
  EXPECT_EQ(HelloAgain(agent, output, At(seconds(62))).settings_digest(),
            SettingsDigest(Snapshot(1500, 0)));
  agent.OnMessage(welcome, At(seconds(63)));
  EXPECT_EQ(output.Take(),
            (Did{Sent(R"({"change":{"taken_at":"1970-01-01T00:00:00Z"}})"), TableSent(3, 10)}))
      << "the controller needs to hear that they still hold";
}

TEST_F(AgentTest, SmallChangesOfMeasuredValuesAddUp) {
  const auto at = [](std::uint32_t mtu, double celsius) {
    v1::NodeSnapshot snapshot = Snapshot(mtu, 1);
    snapshot.add_pci_functions()->add_sensors()->set_temperature_celsius(celsius);
    return snapshot;
  };
  agent.OnSnapshot(at(4200, 50), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  Welcome({});
  agent.OnSnapshot(at(1500, 53), At(seconds(1)));  // The MTU alone is sent.
  output.Take();
  agent.OnSnapshot(at(1500, 56), At(seconds(2)));
  EXPECT_EQ(output.Take().size(), 1u) << "12 % more than the controller knows";
}

TEST_F(AgentTest, WaitsForTheRequestOfItsSnapshot) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  v1::ControllerMessage message;
  message.mutable_welcome()->set_wait_for_request(true);
  output.Take();
  agent.OnMessage(message, At({}));
  agent.OnSnapshot(Snapshot(1500, 1), At(milliseconds(100)));
  EXPECT_EQ(output.Take(), Did{});
  message.mutable_snapshot_request();
  agent.OnMessage(message, At(milliseconds(200)));
  EXPECT_EQ(output.Take(), Did{Whole(1500, 1)});
}

TEST_F(AgentTest, DialsWithinTheSpreadOfTheController) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  Duration longest{};
  for (int round = 0; round < 20; ++round) {
    const Duration now = seconds(1000 * round);
    agent.Tick(At(now));
    agent.OnConnected(At(now));
    v1::ControllerMessage message;
    message.mutable_welcome()->set_reconnect_spread_ms(20'000);
    agent.OnMessage(message, At(now));
    agent.OnDisconnected(Status(Code::kUnavailable, "gone"), At(now + seconds(100)));
    longest = std::max(longest, agent.next_tick() - At(now + seconds(100)).steady);
  }
  EXPECT_GT(longest, seconds(10));
  EXPECT_LE(longest, seconds(20));
}

TEST_F(AgentTest, ComesBackNoEarlierThanTheControllerSays) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  v1::ControllerMessage message;
  message.mutable_retry_later()->set_after_ms(60'000);
  agent.OnMessage(message, At({}));
  agent.OnDisconnected(Status(Code::kResourceExhausted, "full"), At({}));
  EXPECT_EQ(agent.next_tick() - At({}).steady, seconds(60));
  agent.Tick(At(seconds(60)));
  agent.OnConnected(At(seconds(60)));
  message.mutable_retry_later()->set_after_ms(4'000'000'000);
  agent.OnMessage(message, At(seconds(60)));
  agent.OnDisconnected(Status(Code::kResourceExhausted, "full"), At(seconds(60)));
  EXPECT_EQ(agent.next_tick() - At(seconds(60)).steady, std::chrono::minutes(5)) << "at most";
}

}  // namespace
}  // namespace fabric::agent
