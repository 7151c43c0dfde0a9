// What blame is told of the counters of ports.
#include "daemon/control/campaigns/port_counters.h"

#include <gtest/gtest.h>

#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using blame::Sign;

Moment At(Duration time) {
  return {.steady = SteadyTime(time), .wall = WallTime(time)};
}

void Add(v1::CounterSet& set, const char* neutral) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(neutral);
  counter.set_neutral(neutral);
  counter.set_value(100);
}

// Indices 0 to 3; rail 0 of n1.
v1::CounterTable Table() {
  v1::CounterTable table;
  table.set_table_id(1);
  v1::CounterSet& port = *table.add_sets();
  port.set_device("mlx5_0");
  port.set_port(1);
  Add(port, "out_of_sequence");
  Add(port, "symbol_errors");
  v1::CounterSet& netdev = *table.add_sets();
  netdev.set_netdev("rail0");
  Add(netdev, "tx_bytes_prio3");
  Add(netdev, "pfc_tx_duration_us_prio3");
  return table;
}

class PortCountersTest : public ::testing::Test {
 protected:
  PortCountersTest() {
    for (const std::uint32_t number : {1U, 2U})
      fleet_.Put(testing::RoceNode({.number = number, .rails = 2}), At(0s));
    EXPECT_EQ(fleet_.TakeCounters("n1", Table(), At(0s)), Status());
    fabric_.endpoints = {{.node = "gone", .device = "mlx5_0", .port = 1},
                         {.node = "n1", .device = "mlx5_0", .port = 1},
                         {.node = "n1", .device = "mlx5_1", .port = 1},
                         {.node = "n1", .device = "mlx5_9", .port = 1},
                         {.node = "n2", .device = "mlx5_0", .port = 1}};
  }
  // All four grow by the same in the window.
  void Grow(std::int64_t delta) {
    v1::CounterSample sample;
    sample.set_table_id(1);
    for (const std::uint32_t step : {0U, 1U, 1U, 1U}) {
      sample.add_index_steps(step);
      sample.add_deltas(delta);
    }
    EXPECT_EQ(fleet_.TakeCounters("n1", sample, At(10s)), Status());
  }

  std::vector<blame::PortCounters> Read() {
    CounterReader reader;
    while (reader.Continue(fleet_, fabric_)) {
    }
    return reader.Take();
  }

  fleet::Fleet fleet_;
  blame::Fabric fabric_;
};

TEST_F(PortCountersTest, KnowNothingBeforeAWindowHasEnded) {
  Grow(7);
  EXPECT_TRUE(Read().empty());
}

TEST_F(PortCountersTest, TellWhatMovedAtPortsThatAreFollowed) {
  Grow(7);
  fleet_.AdvanceRates("n1", At(31s));
  const auto counters = Read();
  ASSERT_EQ(counters.size(), 2U) << "of nodes, devices and windows that are there";
  EXPECT_EQ(counters[0].endpoint, 1U);
  ASSERT_EQ(counters[0].increases.size(), 3U) << "bytes are no sign";
  EXPECT_EQ(counters[0].increases[0].name, "symbol_errors");
  EXPECT_EQ(counters[0].increases[0].sign, Sign::kPhysical);
  EXPECT_EQ(counters[0].increases[0].delta, 7U);
  EXPECT_GT(counters[0].increases[0].seconds, 0);
  EXPECT_EQ(counters[0].increases[1].name, "out_of_sequence");
  EXPECT_EQ(counters[0].increases[1].sign, Sign::kRepeats);
  EXPECT_EQ(counters[0].increases[2].name, "pfc_tx_duration_us_prio3");
  EXPECT_EQ(counters[0].increases[2].sign, Sign::kPauses);
  EXPECT_EQ(counters[1].endpoint, 2U);
  EXPECT_TRUE(counters[1].increases.empty()) << "known, and nothing moved";
}

TEST_F(PortCountersTest, SayNothingOfALostNode) {
  Grow(7);
  fleet_.AdvanceRates("n1", At(31s));
  fleet_.MarkLost("n1", "gone", At(32s));
  EXPECT_TRUE(Read().empty());
}

TEST_F(PortCountersTest, AreTheSameInParts) {
  Grow(7);
  fleet_.AdvanceRates("n1", At(31s));
  for (std::uint32_t places = 1; places <= 5; ++places) {
    CounterReader reader;
    int turns = 1;
    while (reader.Continue(fleet_, fabric_, places)) {
      EXPECT_FALSE(reader.done());
      ++turns;
    }
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(turns, static_cast<int>((5 + places - 1) / places));
    const std::vector<blame::PortCounters> all = Read();
    ASSERT_EQ(reader.counters().size(), all.size());
    for (std::size_t n = 0; n < all.size(); ++n) {
      EXPECT_EQ(reader.counters()[n].endpoint, all[n].endpoint);
      EXPECT_EQ(reader.counters()[n].increases.size(), all[n].increases.size());
    }
  }
}

TEST_F(PortCountersTest, LackANodeThatLeavesBetweenTwoParts) {
  Grow(7);
  fleet_.AdvanceRates("n1", At(31s));
  CounterReader reader;
  ASSERT_TRUE(reader.Continue(fleet_, fabric_, 2));
  fleet_.Remove("n1");
  EXPECT_FALSE(reader.Continue(fleet_, fabric_, 100));
  ASSERT_EQ(reader.counters().size(), 1U) << "read before";
  EXPECT_EQ(reader.counters()[0].endpoint, 1U);
}

TEST_F(PortCountersTest, OfNoPlaceAreDoneAtOnce) {
  fabric_.endpoints.clear();
  CounterReader reader;
  EXPECT_FALSE(reader.done());
  EXPECT_FALSE(reader.Continue(fleet_, fabric_));
  EXPECT_TRUE(reader.done());
}

}  // namespace
}  // namespace fabric::control
