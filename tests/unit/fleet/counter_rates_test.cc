// How counters move: windows, resets, wraps, pairs of snapshots.
#include "daemon/fleet/counter_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "daemon/fleet/fleet.h"
#include "daemon/fleet/fleet_view.h"
#include "tests/testing/nodes.h"

namespace fabric::fleet {
namespace {

using namespace std::chrono_literals;

constexpr CounterSetIndexes kPort = {0, kNoCounters, 1};

Moment At(Duration time) {
  return {.steady = SteadyTime(time), .wall = WallTime(time)};
}

v1::Counter& Add(v1::CounterSet& set, const char* neutral, std::uint64_t value) {
  v1::Counter& counter = *set.add_counters();
  counter.set_name(neutral);
  counter.set_neutral(neutral);
  counter.set_value(value);
  return counter;
}

// The port of rail 0: retransmissions of RDMA, then pauses and bytes of the netdev.
v1::CounterTable Table() {
  v1::CounterTable table;
  table.set_table_id(1);
  v1::CounterSet& port = *table.add_sets();
  port.set_device("mlx5_0");
  port.set_port(1);
  Add(port, "ack_timeout", 100);
  Add(port, "nobody_follows_this", 1);
  Add(port, "symbol_errors", 5);
  v1::CounterSet& netdev = *table.add_sets();
  netdev.set_netdev("rail0");
  Add(netdev, "tx_bytes_prio3", 1000);
  return table;
}

v1::CounterSample Sample(std::uint32_t index, std::int64_t delta) {
  v1::CounterSample sample;
  sample.set_table_id(1);
  sample.add_index_steps(index);
  sample.add_deltas(delta);
  return sample;
}

class Motions : public ::testing::Test {
 protected:
  Motions() {
    fleet_.Put(testing::RoceNode({.number = 1, .rails = 1}), At(0s));
    EXPECT_EQ(fleet_.TakeCounters("n1", Table(), At(0s)), Status());
  }
  void Take(const v1::CounterSample& sample, Duration time) {
    EXPECT_EQ(fleet_.TakeCounters("n1", sample, At(time)), Status());
  }
  bool Advance(Duration time) { return fleet_.AdvanceRates("n1", At(time)); }
  const CounterRates& rates() { return fleet_.Find("n1")->rates; }

  Fleet fleet_;
};

TEST_F(Motions, HaveNoRateBeforeAWindowHasEnded) {
  Take(Sample(0, 60), 10s);
  EXPECT_FALSE(Advance(29s));
  EXPECT_FALSE(rates().IncreaseOf(kPort, Count::kAckTimeouts));
  EXPECT_TRUE(Advance(30s));
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kAckTimeouts)->delta, 60U);
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kAckTimeouts)->PerSecond(), 2.0);
  EXPECT_EQ(rates().IncreaseOf(kPort, OfPriority(Count::kPriorityTransmittedBytes, 3))->delta, 0U);
  EXPECT_FALSE(rates().IncreaseOf(kPort, OfPriority(Count::kPriorityTransmittedBytes, 4)));
  EXPECT_FALSE(rates().IncreaseOf(kPort, Count::kOutOfBuffer)) << "absent is not 0";
}

TEST_F(Motions, StartEachWindowWhereTheLastOneEnded) {
  Take(Sample(0, 60), 10s);
  Advance(30s);
  EXPECT_FALSE(Advance(40s)) << "once for each window";
  Take(Sample(0, 7), 50s);
  EXPECT_TRUE(Advance(60s));
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kAckTimeouts)->delta, 7U);
  EXPECT_TRUE(Advance(90s)) << "nothing has come: nothing was counted";
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kAckTimeouts)->delta, 0U);
}

TEST_F(Motions, KnowNothingOfARegisterThatWasReset) {
  v1::CounterSample reset = Sample(0, -99);
  reset.add_resets(0);
  Take(reset, 5s);
  Take(Sample(0, 500), 6s);
  Advance(30s);
  EXPECT_FALSE(rates().IncreaseOf(kPort, Count::kAckTimeouts));
  Advance(60s);
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kAckTimeouts)->delta, 0U) << "the next window does";
}

TEST_F(Motions, KnowNothingOfARegisterThatStopped) {
  v1::CounterSample stopped = Sample(2, 65530);
  stopped.add_saturated(2);
  Take(stopped, 5s);
  Advance(30s);
  EXPECT_FALSE(rates().IncreaseOf(kPort, Count::kSymbolErrors));
  Advance(60s);
  EXPECT_FALSE(rates().IncreaseOf(kPort, Count::kSymbolErrors));
}

TEST_F(Motions, AddUpWhatIsRareOverAnHour) {
  for (int minute = 1; minute <= 50; ++minute) {
    Take(Sample(2, 2), minute * 60s);
    Advance(minute * 60s);
  }
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kSymbolErrors)->delta, 2U);
  EXPECT_EQ(rates().IncreaseInHour(kPort, Count::kSymbolErrors)->delta, 100U);
  Take(Sample(2, 2), 60min);
  Advance(60min);
  Advance(61min);
  EXPECT_EQ(rates().IncreaseInHour(kPort, Count::kSymbolErrors)->delta, 102U)
      << "the whole hour before tells more than the first minute of the next";
  EXPECT_FALSE(rates().IncreaseInHour(kPort, Count::kAckTimeouts));
}

TEST_F(Motions, BeginAnewWithEachTableAndSnapshot) {
  Take(Sample(0, 60), 10s);
  Advance(30s);
  EXPECT_EQ(fleet_.TakeCounters("n1", Table(), At(31s)), Status());
  EXPECT_FALSE(rates().IncreaseOf(kPort, Count::kAckTimeouts));
  fleet_.Put(testing::RoceNode({.number = 1, .rails = 1}), At(32s));
  EXPECT_FALSE(Advance(100s));
}

TEST_F(Motions, SurviveACounterThatIsLost) {
  v1::CounterSample sample = Sample(0, 60);
  sample.add_lost(1);
  Take(sample, 10s);
  EXPECT_FALSE(Advance(39s)) << "places have changed: the window is a new one";
  Take(Sample(2, 3), 39s);
  EXPECT_TRUE(Advance(40s));
  EXPECT_EQ(rates().IncreaseOf(kPort, Count::kSymbolErrors)->delta, 3U);
}

TEST_F(Motions, AreFoundByThePortsOfAView) {
  const FleetView view(fleet_);
  EXPECT_EQ(view.nodes()[0].ports[0].counters, kPort);
}

v1::NodeSnapshot Taken(std::int64_t seconds) {
  v1::NodeSnapshot node;
  node.mutable_taken_at()->set_seconds(seconds);
  *node.mutable_counters() = Table().sets();
  for (v1::Counter& counter : *node.mutable_counters(0)->mutable_counters())
    counter.set_width_bits(32);
  return node;
}

// All that can be asked for.
std::vector<Count> AllCounts() {
  std::vector<Count> counts;
  for (unsigned i = 0; i < 128; ++i)
    if (!NeutralName(static_cast<Count>(i)).empty()) counts.push_back(static_cast<Count>(i));
  return counts;
}

TEST(CounterRates, SaysOfAllCountsAtOnceWhatItSaysOfEach) {
  const std::vector<Count> counts = AllCounts();
  ASSERT_GT(counts.size(), 60U);
  std::mt19937 random(7);
  const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
  v1::NodeSnapshot node;
  const auto fill = [&](v1::CounterSet& set, bool netdev) {
    for (const Count count : counts)
      if ((netdev || count < Count::kPriorityTransmittedBytes) && below(2) == 0)
        Add(set, NeutralName(count).c_str(), below(1000));
  };
  for (int set = 0; set < 3; ++set) fill(*node.add_counters(), set == 2);
  CounterRates rates;
  rates.Start(node, SteadyTime());
  for (int window = 1; window < 200; ++window) {
    for (v1::CounterSet& set : *node.mutable_counters())
      for (v1::Counter& counter : *set.mutable_counters()) {
        if (below(3) == 0) counter.set_value(counter.value() + below(100) - 10);
        counter.set_saturated(below(10) == 0);
      }
    EXPECT_TRUE(rates.Advance(node, SteadyTime(window * CounterRates::kWindow)));
    const auto place = [&](std::uint16_t at) { return below(4) == 0 ? kNoCounters : at; };
    const CounterSetIndexes places = {place(0), place(1), place(2)};
    const CounterActivity moved = rates.ActivityOf(places);
    const CounterActivity in_hour = rates.ActivityInHour(places);
    for (const Count count : counts) {
      SCOPED_TRACE(NeutralName(count));
      const auto move = rates.IncreaseOf(places, count);
      EXPECT_EQ(Has(moved.known, count), move.has_value());
      EXPECT_EQ(Has(moved.grown, count), move && move->delta > 0);
      EXPECT_EQ(move ? move->seconds : rates.seconds(), rates.seconds());
      const auto hour = rates.IncreaseInHour(places, count);
      EXPECT_EQ(Has(in_hour.known, count), hour.has_value());
      EXPECT_EQ(Has(in_hour.grown, count), hour && hour->delta > 0);
      EXPECT_EQ(hour ? hour->seconds : rates.seconds_in_hour(), rates.seconds_in_hour());
    }
  }
}

TEST(CountSet, FindsAnyPriorityOfACount) {
  CountSet set = {};
  set[WordOf(Count::kPriorityPfcReceived)] |= BitOf(OfPriority(Count::kPriorityPfcReceived, 7));
  EXPECT_TRUE(HasAnyPriority(set, Count::kPriorityPfcReceived));
  EXPECT_FALSE(HasAnyPriority(set, Count::kPriorityReceiveDiscards));
  EXPECT_FALSE(HasAnyPriority(set, Count::kPriorityPfcReceivedUs));
}

TEST(MotionBetween, TwoSnapshotsIsAWindow) {
  v1::NodeSnapshot after = Taken(60);
  after.mutable_counters(0)->mutable_counters(0)->set_value(400);
  const CounterRates rates = CounterRates::Between(Taken(0), after);
  EXPECT_EQ(rates.IncreaseOf(kPort, Count::kAckTimeouts)->PerSecond(), 5.0);
  EXPECT_FALSE(CounterRates::Between(after, Taken(0)).known()) << "not in order";
  EXPECT_FALSE(CounterRates::Between(Taken(55), after).known()) << "too close";
  after.set_captured(true);
  EXPECT_FALSE(CounterRates::Between(Taken(0), after).known()) << "at an unknown time";
  after.set_captured(false);
  after.mutable_node()->set_boot_id("another");
  EXPECT_FALSE(CounterRates::Between(Taken(0), after).known()) << "booted between";
}

TEST(MotionBetween, TellsAWrapFromAReset) {
  v1::NodeSnapshot before = Taken(0);
  v1::NodeSnapshot after = Taken(60);
  before.mutable_counters(0)->mutable_counters(0)->set_value((std::uint64_t{1} << 32) - 10);
  EXPECT_EQ(CounterRates::Between(before, after).IncreaseOf(kPort, Count::kAckTimeouts)->delta,
            110U);
  before.mutable_counters(0)->mutable_counters(0)->set_value(1 << 20);
  const CounterRates rates = CounterRates::Between(before, after);
  EXPECT_FALSE(rates.IncreaseOf(kPort, Count::kAckTimeouts));
  EXPECT_FALSE(rates.IncreaseOf(kPort, Count::kSymbolErrors)) << "a reset clears all of a source";
  EXPECT_TRUE(rates.IncreaseOf(kPort, OfPriority(Count::kPriorityTransmittedBytes, 3)));
}

TEST(Counts, HaveTheirNeutralNames) {
  EXPECT_EQ(NeutralName(Count::kSymbolErrors), "symbol_errors");
  EXPECT_EQ(NeutralName(OfPriority(Count::kPriorityPfcSentUs, 7)), "pfc_tx_duration_us_prio7");
}

}  // namespace
}  // namespace fabric::fleet
