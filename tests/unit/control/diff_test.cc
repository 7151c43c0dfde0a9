// What changed on nodes, and what most of them have: DiffNode and InferProfile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "proto/timestamps.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DiffNodeTest : public ::testing::Test {
 protected:
  DiffNodeTest() { world_.ConnectNodes(2); }

  v1::DiffNodeResponse Ask(std::uint32_t since_seconds, const std::string& other = "") {
    v1::DiffNodeRequest request;
    request.set_name("n1");
    request.set_since_seconds(since_seconds);
    request.set_other(other);
    v1::DiffNodeResponse response;
    const Status status = world_.controller->Call(request, response, world_.agents.now());
    EXPECT_TRUE(status.ok()) << status.message();
    return response;
  }
  std::vector<std::string> Settings(const v1::DiffNodeResponse& response) {
    std::vector<std::string> lines;
    for (const v1::FieldDifference& each : response.differences())
      if (!each.counter())
        lines.push_back(Format("{}: {} > {}", each.path(), each.before(), each.after()));
    return lines;
  }
  void SetMtu(std::uint32_t bytes) {
    v1::NodeSnapshot node = testing::RoceNode({.number = 1});
    v1::NetInterface& netdev = testing::NetdevOf(node, 0);
    netdev.set_mtu_bytes(bytes);
    v1::AgentMessage message;
    *message.mutable_change()->add_net_interfaces() = netdev;
    EXPECT_TRUE(world_.agents.Say("n1", message).ok());
  }

  ControlWorld world_;
};

TEST_F(DiffNodeTest, SinceAMomentWithTheFirstValueThenAndTheLastNow) {
  world_.agents.Advance(10min);
  SetMtu(1500);
  world_.agents.Advance(10min);
  SetMtu(4200);
  const WallTime changed = world_.agents.now().wall;
  world_.agents.Advance(1min);
  const auto short_ago = Ask(5 * 60);
  EXPECT_THAT(Settings(short_ago), ElementsAre("net_interfaces[rail0].mtu_bytes: 1500 > 4200"));
  EXPECT_EQ(FromProto(short_ago.differences(0).changed_at()), changed);
  EXPECT_EQ(FromProto(short_ago.since()), world_.agents.now().wall - 5min);
  EXPECT_THAT(Settings(Ask(20 * 60)), ElementsAre(HasSubstr(" > 4200")));
  EXPECT_THAT(Settings(Ask(30)), IsEmpty());
}

TEST_F(DiffNodeTest, SaysSinceWhenItIsKnown) {
  const WallTime begun = world_.agents.now().wall;
  world_.agents.Advance(1min);
  EXPECT_LE(FromProto(Ask(3600).since()), begun);
  EXPECT_GT(FromProto(Ask(3600).since()), begun - 1min);
}

std::vector<std::string> Counters(const v1::DiffNodeResponse& response) {
  std::vector<std::string> lines;
  for (const v1::FieldDifference& each : response.differences())
    if (each.counter())
      lines.push_back(Format("{}: {} > {}", each.path(), each.before(), each.after()));
  return lines;
}

// A whole snapshot of n1 with one counter.
void Count(ControlWorld& world, std::uint64_t symbol_errors) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1});
  node.clear_counters();
  v1::CounterSet& set = *node.add_counters();
  set.set_device("mlx5_0");
  set.set_port(1);
  v1::Counter& counter = *set.add_counters();
  counter.set_name("symbol_error");
  counter.set_value(symbol_errors);
  v1::AgentMessage message;
  *message.mutable_snapshot() = node;
  EXPECT_TRUE(world.agents.Say("n1", message).ok());
}

// Marks are an hour apart: of counters as they were then, not as they were at the moment asked for.
TEST_F(DiffNodeTest, CountersThatMovedSinceTheMarkBefore) {
  Count(world_, 1);
  world_.agents.Advance(65min);
  Count(world_, 5);
  world_.agents.Advance(65min);
  Count(world_, 7);
  world_.agents.Advance(20min);
  Count(world_, 9);
  const auto expect = [&](std::chrono::minutes ago, const std::string& line) {
    const WallTime asked = world_.agents.now().wall - ago;
    const auto response = Ask(static_cast<std::uint32_t>(std::chrono::seconds(ago).count()));
    EXPECT_THAT(Counters(response), ElementsAre("counters[mlx5_0/1].symbol_error: " + line));
    EXPECT_LE(FromProto(response.counters_since()), asked);
    EXPECT_GT(FromProto(response.counters_since()), asked - 76min);
  };
  expect(10min, "5 > 9");
  expect(88min, "1 > 9");
  world_.Restart();
  expect(10min, "5 > 9");
}

TEST_F(DiffNodeTest, AMarkOfATimeWithoutDiskIsWrittenLater) {
  Count(world_, 1);
  world_.store->failure = Status(Code::kUnavailable, "state.db: the disk is full");
  world_.agents.Advance(65min);
  world_.store->failure = Status();
  Count(world_, 5);
  world_.agents.Advance(1min);
  Count(world_, 9);
  EXPECT_THAT(Counters(Ask(10)), ElementsAre("counters[mlx5_0/1].symbol_error: 1 > 9"));
  world_.Restart();
  EXPECT_THAT(Counters(Ask(10)), ElementsAre("counters[mlx5_0/1].symbol_error: 1 > 9"));
}

TEST_F(DiffNodeTest, CountersOfAnotherNodeAreNotItsOwn) {
  Count(world_, 1);
  v1::DiffNodeRequest request;
  request.set_name("n2");
  request.set_since_seconds(60);
  v1::DiffNodeResponse response;
  ASSERT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
  EXPECT_THAT(Counters(response), IsEmpty());
  EXPECT_THAT(Counters(Ask(60)), ElementsAre("counters[mlx5_0/1].symbol_error:  > 1"));
}

TEST_F(DiffNodeTest, SurvivesARestart) {
  SetMtu(1500);
  world_.agents.Advance(1min);
  world_.Restart();
  EXPECT_THAT(Settings(Ask(3600)), ElementsAre(HasSubstr("mtu_bytes: 9000 > 1500")));
  // What changed while nobody looked is found when the node is back.
  v1::NodeSnapshot node = testing::RoceNode({.number = 1});
  node.mutable_node()->set_kernel_release("6.99");
  ASSERT_TRUE(world_.agents.Connect(node).ok());
  EXPECT_THAT(Settings(Ask(3600)), ElementsAre(HasSubstr("kernel_release: ")));
}

TEST_F(DiffNodeTest, ReportsOfCountersAloneAreNotLookedAt) {
  v1::AgentMessage message;
  message.mutable_change()->mutable_taken_at()->set_seconds(5);
  ASSERT_TRUE(world_.agents.Say("n1", message).ok());
  EXPECT_THAT(Settings(Ask(3600)), IsEmpty());
}

TEST_F(DiffNodeTest, BetweenTwoNodesAsTheyAre) {
  SetMtu(1500);
  EXPECT_THAT(Settings(Ask(0, "n2")),
              ::testing::Contains("net_interfaces[rail0].mtu_bytes: 1500 > 9000"));
}

TEST_F(DiffNodeTest, RefusesWhatCannotBeMeant) {
  v1::DiffNodeRequest request;
  v1::DiffNodeResponse response;
  request.set_name("n1");
  const Moment now = world_.agents.now();
  EXPECT_EQ(world_.controller->Call(request, response, now),
            Status(Code::kInvalidArgument, "expected one of since_seconds and other, saw none"));
  request.set_other("n2");
  request.set_since_seconds(1);
  EXPECT_EQ(world_.controller->Call(request, response, now).code(), Code::kInvalidArgument);
  request.clear_since_seconds();
  request.set_other("n22");
  EXPECT_EQ(world_.controller->Call(request, response, now),
            Status(Code::kNotFound, "unknown node 'n22'; did you mean 'n2'?"));
  request.set_name("x");
  EXPECT_EQ(world_.controller->Call(request, response, now).code(), Code::kNotFound);
}

TEST_F(DiffNodeTest, SinceLongerThanTimeIsLong) {
  EXPECT_THAT(Settings(Ask(0xffffffff)), IsEmpty());
}

TEST_F(DiffNodeTest, GoesOnWithoutADisk) {
  world_.store->failure = Status(Code::kUnavailable, "disk full");
  SetMtu(1500);
  EXPECT_GT(world_.controller->store_condition().failed, 0U);
  EXPECT_THAT(Settings(Ask(3600)), ElementsAre(HasSubstr("mtu_bytes: 9000 > 1500")));
}

TEST_F(DiffNodeTest, InferProfileGivesWhatMostNodesHave) {
  v1::InferProfileResponse response;
  ASSERT_TRUE(
      world_.controller->Call(v1::InferProfileRequest(), response, world_.agents.now()).ok());
  EXPECT_THAT(response.yaml(), HasSubstr("  netdev_mtu_bytes: 9000\n"));
}

}  // namespace
}  // namespace fabric::control
