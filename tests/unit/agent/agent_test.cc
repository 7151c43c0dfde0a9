#include "agents/session/agent.h"

#include <gtest/gtest.h>

#include "proto/json.h"
#include "tests/unit/agent/agent_case.h"

namespace fabric::agent {
namespace {

TEST_F(AgentTest, DialsOnlyOnceItKnowsWhoItIs) {
  agent.Tick(At({}));
  EXPECT_EQ(output.Take(), Did{});
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  EXPECT_EQ(output.Take(), Did{"dial"});
}

TEST_F(AgentTest, SaysHelloThenOneWholeSnapshot) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  const std::string hello = R"({"hello":{"node":{"name":"n1"},"probe_kinds":["rc_write_latency"],)"
                            R"("message_bytes_max":1048576,"protocol_version":2}})";
  EXPECT_EQ(output.Take(), (Did{"dial", Sent(hello)}));
  EXPECT_FALSE(agent.connected());
  Welcome({});
  EXPECT_TRUE(agent.connected());
  EXPECT_EQ(output.Take(), Did{Whole(4200, 1)});
}

TEST_F(AgentTest, SendsNothingWhenNothingHasChanged) {
  Stream();
  agent.OnSnapshot(Snapshot(4200, 1), At(milliseconds(500)));
  EXPECT_EQ(output.Take(), Did{});
}

TEST_F(AgentTest, SaysOnceAMinuteThatSettingsAreAsTheyWere) {
  const auto taken_at = [](std::int64_t at) {
    v1::NodeSnapshot snapshot = Snapshot(4200, 1);
    snapshot.mutable_taken_at()->set_seconds(at);
    return snapshot;
  };
  agent.OnSnapshot(taken_at(1000), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  Welcome({});
  output.Take();
  agent.OnSnapshot(taken_at(1030), At(seconds(30)));
  EXPECT_EQ(output.Take(), Did{});
  agent.OnSnapshot(taken_at(1060), At(seconds(60)));
  EXPECT_EQ(output.Take(), Did{Sent(R"({"change":{"taken_at":"1970-01-01T00:17:40Z"}})")});
  agent.OnSnapshot(taken_at(1090), At(seconds(90)));
  EXPECT_EQ(output.Take(), Did{});
  agent.OnSnapshot(taken_at(500), At(seconds(120)));
  EXPECT_EQ(output.Take(), Did{Sent(R"({"change":{"taken_at":"1970-01-01T00:08:20Z"}})")})
      << "the clock was set back";
}

TEST_F(AgentTest, SendsAChangedSettingAtOnceAndWithoutCounters) {
  Stream();
  agent.OnSnapshot(Snapshot(1500, 2), At(milliseconds(100)));
  EXPECT_EQ(output.Take(), Did{MtuChange(1500)});
}

TEST_F(AgentTest, CountersAreATableBehindTheSnapshotAndThenSamplesOfWhatHasChanged) {
  agent.OnCounterTable(Rx(1));
  agent.OnCounterSample(RxSample(1, 10));
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  output.Take();
  Welcome({});
  EXPECT_EQ(output.Take(), (Did{Whole(4200, 1), TableSent(1, 10)}));
  agent.OnCounterSample(RxSample(1, 10));
  EXPECT_EQ(output.Take(), Did{}) << "nothing has changed";
  agent.OnCounterSample(RxSample(1, 12));
  EXPECT_EQ(output.Take(), Did{SampleSent(1, 2)});
  agent.OnCounterTable(Rx(2));
  agent.OnCounterSample(RxSample(2, 3));
  EXPECT_EQ(output.Take(), Did{TableSent(2, 3)});
}

TEST_F(AgentTest, ASampleThatHadToWaitIsCarriedByTheNext) {
  Stream();
  agent.OnCounterTable(Rx(1));
  agent.OnCounterSample(RxSample(1, 10));
  output.Take();
  output.idle = false;
  agent.OnCounterSample(RxSample(1, 12));
  EXPECT_EQ(output.Take(), Did{});
  output.idle = true;
  agent.OnCounterSample(RxSample(1, 15));
  EXPECT_EQ(output.Take(), Did{SampleSent(1, 5)});
}

TEST_F(AgentTest, ASnapshotRequestBringsTheTableAgain) {
  Stream();
  agent.OnCounterTable(Rx(1));
  agent.OnCounterSample(RxSample(1, 10));
  output.Take();
  v1::ControllerMessage request;
  request.mutable_snapshot_request();
  agent.OnMessage(request, At(seconds(1)));
  EXPECT_EQ(output.Take(), (Did{Whole(4200, 1), TableSent(2, 10)}));
}

TEST_F(AgentTest, AChangeThatHadToWaitIsCarriedByTheNext) {
  Stream();
  output.idle = false;
  agent.OnSnapshot(Snapshot(1500, 1), At(milliseconds(100)));
  agent.OnSnapshot(Snapshot(2000, 1), At(milliseconds(200)));
  EXPECT_EQ(output.Take(), Did{});
  output.idle = true;
  agent.OnSnapshot(Snapshot(2000, 1), At(milliseconds(300)));
  EXPECT_EQ(output.Take(), Did{MtuChange(2000)});
}

TEST_F(AgentTest, AChangeThatHadToWaitDoesNotWaitForTheNextInspection) {
  Stream();
  output.idle = false;
  agent.OnSnapshot(Snapshot(1500, 1), At(milliseconds(100)));
  agent.Tick(At(milliseconds(200)));
  EXPECT_EQ(output.Take(), Did{});
  output.idle = true;
  agent.Tick(At(milliseconds(300)));
  EXPECT_EQ(output.Take(), Did{MtuChange(1500)});
  agent.Tick(At(milliseconds(400)));
  EXPECT_EQ(output.Take(), Did{});
}

TEST_F(AgentTest, SendsHeartbeatsAtTheIntervalOfTheController) {
  Stream();
  agent.Tick(At(milliseconds(999)));
  EXPECT_EQ(output.Take(), Did{});
  EXPECT_EQ(agent.next_tick(), At(seconds(1)).steady);
  agent.Tick(At(seconds(1)));
  EXPECT_EQ(output.Take(), Did{R"(send {"heartbeat":{"sequence":"1"}})"});
}

TEST_F(AgentTest, ASnapshotRequestBringsAWholeSnapshot) {
  Stream();
  v1::ControllerMessage request;
  request.mutable_snapshot_request();
  agent.OnMessage(request, At(seconds(1)));
  EXPECT_EQ(output.Take(), Did{Whole(4200, 1)});
}

TEST_F(AgentTest, ReconnectingSendsAWholeSnapshotAgainAndStopsProbesBefore) {
  Stream();
  agent.OnDisconnected(Status(Code::kUnavailable, "gone"), At(seconds(60)));
  EXPECT_FALSE(agent.connected());
  EXPECT_EQ(output.Take(), Did{"stop all probes: controller disconnected: gone"});
  agent.OnSnapshot(Snapshot(1500, 9), At(seconds(60)));  // Goes on inspecting.
  EXPECT_EQ(output.Take(), Did{});
  agent.Tick(At(seconds(61)));
  agent.OnConnected(At(seconds(61)));
  output.Take();
  Welcome(seconds(61));
  EXPECT_EQ(output.Take(), Did{Whole(1500, 9)});
}

TEST_F(AgentTest, BacksOffTwiceAsLongEachTimeWithJitterUpToTheMaximum) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  output.Take();
  Duration now{};
  Duration expected = milliseconds(500);
  for (int failure = 0; failure < 12; ++failure) {
    const Duration wait = BackOff(now);
    EXPECT_GE(wait, expected / 2) << failure;
    EXPECT_LE(wait, expected) << failure;
    now += wait;
    expected = std::min<Duration>(expected * 2, seconds(30));
  }
}

TEST_F(AgentTest, AgentsWithOtherSeedsDialAtOtherTimes) {
  Output other_output;
  Agent other({.seed = 8}, other_output);
  for (Agent* each : {&agent, &other}) {
    each->OnSnapshot(Snapshot(4200, 1), At({}));
    each->Tick(At({}));
    each->OnDisconnected(Status(Code::kUnavailable, "refused"), At({}));
  }
  EXPECT_NE(agent.next_tick(), other.next_tick());
}

TEST_F(AgentTest, AConnectionThatHeldForAWhileStartsTheBackOffAnew) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  output.Take();
  for (int failure = 0; failure < 8; ++failure) BackOff(seconds(100 * failure));
  agent.OnConnected(At(seconds(1000)));
  Welcome(seconds(1000));
  EXPECT_LE(BackOff(seconds(1030)), milliseconds(500));
}

TEST_F(AgentTest, AControllerThatDropsItAtOnceIsLeftAloneForLonger) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  Duration wait{};
  for (int round = 0; round < 8; ++round) {
    const Duration now = seconds(100 * round);
    agent.OnConnected(At(now));
    Welcome(now);
    wait = BackOff(now + seconds(1));
  }
  EXPECT_GE(wait, seconds(15));
}

// Between the addresses of one round it waits shortly; the backoff is between rounds.
TEST_F(AgentTest, GoesRoundItsControllers) {
  Agent several{{.controllers = 3, .seed = 7}, output};
  several.OnSnapshot(Snapshot(4200, 1), At({}));
  several.Tick(At({}));
  Duration now{};
  std::vector<bool> short_waits;
  for (int dial = 0; dial < 6; ++dial) {
    several.OnDisconnected(Status(Code::kUnavailable, "does not lead"), At(now));
    const Duration wait = several.next_tick() - At(now).steady;
    short_waits.push_back(wait <= milliseconds(100));
    now += wait;
    several.Tick(At(now));
  }
  EXPECT_EQ(short_waits, (std::vector<bool>{true, true, false, true, true, false}));
}

TEST_F(AgentTest, LeavesAControllerThatNoLongerLeads) {
  const auto order = [&](std::uint64_t epoch) {
    v1::ControllerMessage message;
    message.mutable_probe_assignment()->set_probe_id(epoch);
    message.set_epoch(epoch);
    agent.OnMessage(message, At(seconds(1)));
  };
  Stream();
  order(7);
  order(8);
  EXPECT_EQ(output.Take(), (Did{"start probe 7", "start probe 8"}));
  order(7);
  EXPECT_EQ(output.Take(), (Did{"stop all probes: the controller no longer leads", "hang up"}));
  EXPECT_FALSE(agent.connected());
  order(9);
  EXPECT_EQ(output.Take(), Did{}) << "the stream has ended";
}

TEST_F(AgentTest, HangsUpWhenNoWelcomeComes) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  output.Take();
  agent.Tick(At(milliseconds(9999)));
  EXPECT_EQ(output.Take(), Did{});
  agent.Tick(At(seconds(10)));
  agent.Tick(At(seconds(11)));
  EXPECT_EQ(output.Take(), Did{"hang up"});
  BackOff(seconds(12));
}

TEST_F(AgentTest, HandsProbesOn) {
  Stream();
  v1::ControllerMessage message;
  message.mutable_probe_assignment()->set_probe_id(1);
  agent.OnMessage(message, At({}));
  message.mutable_probe_start()->set_probe_id(2);
  agent.OnMessage(message, At({}));
  message.mutable_probe_stop()->set_probe_id(3);
  agent.OnMessage(message, At({}));
  EXPECT_EQ(output.Take(), (Did{"start probe 1", "continue probe 2", "stop probe 3"}));
}

TEST_F(AgentTest, TakesNothingBeforeWelcome) {
  agent.OnSnapshot(Snapshot(4200, 1), At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  output.Take();
  v1::ControllerMessage message;
  message.mutable_probe_assignment()->set_probe_id(1);
  agent.OnMessage(message, At({}));
  message.mutable_snapshot_request();
  agent.OnMessage(message, At({}));
  EXPECT_EQ(output.Take(), Did{});
}

v1::ControllerMessage MeshAssignment(int ports) {
  v1::ControllerMessage message;
  message.mutable_mesh_assignment()->set_number(1);
  for (int n = 0; n < ports; ++n) message.mutable_mesh_assignment()->add_ports();
  return message;
}

TEST_F(AgentTest, PassesOrdersOfTheMeshOn) {
  Stream();
  agent.OnMessage(MeshAssignment(2), At(seconds(1)));
  agent.OnMessage(MeshAssignment(0), At(seconds(2)));
  EXPECT_EQ(output.Take(), (Did{"mesh of 2 ports", "mesh of 0 ports"}));
}

v1::ControllerMessage SubnetOrder(const std::string& device) {
  v1::ControllerMessage message;
  message.mutable_subnet_order()->set_device(device);
  return message;
}

// The controller gives the lease to another agent when the connection ends.
TEST_F(AgentTest, ReadsASubnetOnlyWhileItIsConnected) {
  Stream();
  agent.OnMessage(SubnetOrder(""), At(seconds(1)));
  agent.OnMessage(SubnetOrder("mlx5_0"), At(seconds(2)));
  EXPECT_EQ(output.Take(), Did{"read the subnet of mlx5_0"}) << "nothing was to be ended";
  agent.OnDisconnected(Status(Code::kUnavailable, "gone"), At(seconds(10)));
  EXPECT_EQ(output.Take(),
            (Did{"stop all probes: controller disconnected: gone", "read the subnet of no port"}));
}

TEST_F(AgentTest, EndsTheMeshWhenTheControllerStaysAway) {
  Stream();
  agent.OnMessage(MeshAssignment(2), At(seconds(1)));
  agent.OnDisconnected(Status(Code::kUnavailable, "gone"), At(seconds(10)));
  output.Take();
  agent.Tick(At(milliseconds(39'999)));
  for (const std::string& did : output.Take()) EXPECT_EQ(did, "dial") << "it may only restart";
  EXPECT_LE(agent.next_tick(), At(seconds(40)).steady);
  agent.Tick(At(seconds(40)));
  EXPECT_EQ(output.Take().front(), "mesh of 0 ports");
  agent.Tick(At(seconds(41)));
  for (const std::string& did : output.Take()) EXPECT_EQ(did.find("mesh"), std::string::npos);
}

TEST_F(AgentTest, TheMeshOutlivesAControllerThatIsBackSoon) {
  Stream();
  agent.OnMessage(MeshAssignment(2), At(seconds(1)));
  agent.OnDisconnected(Status(Code::kUnavailable, "gone"), At(seconds(10)));
  agent.Tick(At(seconds(12)));
  agent.OnConnected(At(seconds(12)));
  Welcome(seconds(12));
  output.Take();
  agent.Tick(At(seconds(100)));
  for (const std::string& did : output.Take()) EXPECT_EQ(did.find("mesh"), std::string::npos);
}

TEST_F(AgentTest, TheHeartbeatIntervalIsClamped) {
  for (const auto& [ordered, used] :
       {std::pair(1u, milliseconds(100)), std::pair(4'000'000'000u, milliseconds(60'000))}) {
    Output out;
    Agent fresh{{.probe_kinds = {}, .seed = 7}, out};
    fresh.OnSnapshot(Snapshot(4200, 1), At({}));
    fresh.Tick(At({}));
    fresh.OnConnected(At({}));
    v1::ControllerMessage message;
    message.mutable_welcome()->set_heartbeat_interval_ms(ordered);
    fresh.OnMessage(message, At({}));
    EXPECT_EQ(fresh.next_tick() - At({}).steady, used);
  }
}

TEST_F(AgentTest, ASnapshotBeyondTheBoundsIsCut) {
  v1::NodeSnapshot snapshot = Snapshot(4200, 1);
  for (int n = 0; n < 5000; ++n) snapshot.add_gaps();
  agent.OnSnapshot(snapshot, At({}));
  agent.Tick(At({}));
  agent.OnConnected(At({}));
  output.Take();
  Welcome({});
  EXPECT_NE(output.Take().at(0).find("NodeSnapshot.gaps"), std::string::npos);
}

}  // namespace
}  // namespace fabric::agent
