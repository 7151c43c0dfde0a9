// Counters that agents send become findings once for each window, and resolve with the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/control_world.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MotionTest : public ::testing::Test {
 protected:
  MotionTest() {
    world_.ConnectNodes(3);
    v1::AgentMessage message;
    v1::CounterTable& table = *message.mutable_counter_table();
    table.set_table_id(1);
    *table.mutable_sets() =
        testing::PairOf({testing::RoceNode({.number = 2})}).before[0].counters();
    EXPECT_EQ(world_.agents.Say("n2", message), Status());
    std::uint32_t index = 0;
    for (const v1::CounterSet& set : table.sets())
      for (const v1::Counter& counter : set.counters()) {
        if (set.netdev() == "rail0" && counter.neutral() == "pfc_storm_events") storms_ = index;
        ++index;
      }
  }

  void Storm() {
    v1::AgentMessage message;
    message.mutable_counter_sample()->set_table_id(1);
    message.mutable_counter_sample()->add_index_steps(storms_);
    message.mutable_counter_sample()->add_deltas(1);
    EXPECT_EQ(world_.agents.Say("n2", message), Status());
  }

  testing::ControlWorld world_;
  std::uint32_t storms_ = 0;
};

TEST_F(MotionTest, IsJudgedWhenAWindowHasEnded) {
  world_.agents.Advance(5s);
  Storm();
  world_.agents.Advance(5s);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty()) << "too early for a verdict";
  world_.agents.Advance(22s);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("no_pause_storm n2/mlx5_0/1"));
  world_.agents.Advance(31s);
  EXPECT_THAT(world_.OpenFindings(), IsEmpty()) << "no sample came: no storm";
}

TEST_F(MotionTest, TheNodeHasTheTimeOfItsCounters) {
  const auto counters_at = [&](const char* name) {
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    EXPECT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
    return response.has_counters_at() ? std::optional(response.counters_at().seconds())
                                      : std::nullopt;
  };
  const auto before = counters_at("n2");
  ASSERT_TRUE(before.has_value());
  EXPECT_FALSE(counters_at("n1").has_value()) << "it sent no counters";
  world_.agents.Advance(5s);
  EXPECT_EQ(counters_at("n2"), before) << "a heartbeat has no counters";
  Storm();
  EXPECT_EQ(counters_at("n2"), *before + 5);
}

TEST_F(MotionTest, HasAHistoryByPort) {
  const auto history_of = [&](const std::string& device, std::uint32_t port) {
    v1::GetCounterHistoryRequest request;
    request.set_name("n2");
    request.set_device(device);
    request.set_port(port);
    v1::CounterHistory history;
    const Status status = world_.controller->Call(request, history, world_.agents.now());
    EXPECT_EQ(status.code(), device == "mlx5_9" ? Code::kNotFound : Code::kOk);
    return history;
  };
  EXPECT_EQ(history_of("", 0).ports_size(), 0) << "no window ended";
  world_.agents.Advance(65s);
  EXPECT_EQ(history_of("", 0).ended_at_size(), 2);
  EXPECT_EQ(history_of("", 0).ports_size(), 2);
  const v1::CounterHistory one = history_of("mlx5_1", 1);
  ASSERT_EQ(one.ports_size(), 1);
  EXPECT_EQ(one.ports(0).device(), "mlx5_1");
  EXPECT_GT(one.ports(0).series_size(), 0);
  history_of("mlx5_9", 0);
}

TEST_F(MotionTest, OfANodeThatIsLostSaysNothingNew) {
  Storm();
  world_.agents.Advance(10s);
  world_.agents.Disconnect("n2", "gone");
  world_.agents.Advance(40s);
  EXPECT_THAT(world_.OpenFindings(), ElementsAre("node_connected n2"));
}

}  // namespace
}  // namespace fabric::control
