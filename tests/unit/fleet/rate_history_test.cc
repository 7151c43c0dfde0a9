#include "daemon/fleet/rate_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fabric/v1/fabric.pb.h"

namespace fabric::fleet {
namespace {

using std::chrono::seconds;

struct World {
  explicit World(std::size_t bytes_max = RateHistory::kBytesMax,
                 std::size_t node_bytes_min = RateHistory::kNodeBytesMin)
      : history(bytes_max, node_bytes_min) {
    snapshot.mutable_node()->set_name("n1");
    v1::RdmaDevice& device = *snapshot.add_rdma_devices();
    device.set_name("mlx5_0");
    device.add_ports()->set_number(1);
    v1::CounterSet& set = *snapshot.add_counters();
    set.set_device("mlx5_0");
    set.set_port(1);
    for (const char* name : {"rdma_tx_bytes", "symbol_errors"}) {
      v1::Counter& counter = *set.add_counters();
      counter.set_name(name);
      counter.set_neutral(name);
    }
    rates.Start(snapshot, now.steady);
  }
  // One window in which the first counter grows by `bytes`.
  void Pass(std::uint64_t bytes) {
    now.steady += CounterRates::kWindow;
    now.wall += CounterRates::kWindow;
    v1::Counter& counter = *snapshot.mutable_counters(0)->mutable_counters(0);
    counter.set_value(counter.value() + bytes);
    ASSERT_TRUE(rates.Advance(snapshot, now.steady));
    history.Take("n1", snapshot, rates, now.wall);
  }

  v1::NodeSnapshot snapshot;
  CounterRates rates;
  RateHistory history;
  Moment now = {.steady = {}, .wall = WallTime(seconds(1'700'000'000))};
};

TEST(RateHistory, HasTheRateOfEachWindow) {
  World world;
  world.Pass(3000);
  world.Pass(0);
  world.Pass(6000);
  const v1::CounterHistory history = world.history.Of("n1");
  ASSERT_EQ(history.ended_at_size(), 3);
  EXPECT_EQ(history.ended_at(2).seconds() - history.ended_at(0).seconds(), 60);
  ASSERT_EQ(history.ports_size(), 1);
  EXPECT_EQ(history.ports(0).device(), "mlx5_0");
  ASSERT_EQ(history.ports(0).series_size(), 2) << "symbol_errors is known and 0";
  const v1::CounterSeries& bytes = history.ports(0).series(0);
  EXPECT_EQ(bytes.name(), "rdma_tx_bytes");
  ASSERT_EQ(bytes.per_second_size(), 3);
  EXPECT_EQ(bytes.per_second(0), 100);
  EXPECT_EQ(bytes.per_second(1), 0);
  EXPECT_EQ(bytes.per_second(2), 200);
}

TEST(RateHistory, AnUnknownRateIsAbsentAndNot0) {
  World world;
  world.Pass(3000);
  world.rates.Break(0, 0);
  world.Pass(3000);
  world.Pass(3000);
  const v1::CounterHistory history = world.history.Of("n1");
  const v1::CounterSeries& bytes = history.ports(0).series(0);
  ASSERT_EQ(bytes.windows_size(), 2);
  EXPECT_EQ(bytes.windows(0), 0u);
  EXPECT_EQ(bytes.windows(1), 2u);
  EXPECT_EQ(bytes.per_second_size(), 2);
}

TEST(RateHistory, KeepsAnHour) {
  World world;
  for (std::uint64_t i = 0; i < RateHistory::kWindows + 5; ++i) world.Pass(30 * i);
  const v1::CounterHistory history = world.history.Of("n1");
  const v1::CounterSeries& bytes = history.ports(0).series(0);
  ASSERT_EQ(history.ended_at_size(), static_cast<int>(RateHistory::kWindows));
  ASSERT_EQ(bytes.per_second_size(), static_cast<int>(RateHistory::kWindows));
  EXPECT_EQ(bytes.per_second(0), 5);
  EXPECT_EQ(bytes.per_second(119), 124);
}

TEST(RateHistory, StopsAtTheLimitAndSaysSo) {
  World world(100);
  world.Pass(3000);
  EXPECT_EQ(world.history.bytes(), 0u);
  EXPECT_EQ(world.history.Of("n1").reason(), "the limit of 100 bytes for all histories is reached");
  EXPECT_EQ(world.history.Of("n1").ports_size(), 0);
}

TEST(RateHistory, AMissingPortKeepsItsLastHour) {
  World world;
  world.Pass(3000);
  world.Pass(3000);
  const std::size_t bytes = world.history.bytes();
  world.snapshot.mutable_rdma_devices(0)->set_name("mlx5_9");
  for (std::size_t i = 2; i < RateHistory::kWindows; ++i) world.Pass(30);
  EXPECT_EQ(world.history.Of("n1").ports_size(), 2);
  world.Pass(30);
  EXPECT_EQ(world.history.Of("n1").ports_size(), 2) << "one window is left";
  world.Pass(30);
  ASSERT_EQ(world.history.Of("n1").ports_size(), 1);
  EXPECT_EQ(world.history.Of("n1").ports(0).device(), "mlx5_9");
  EXPECT_LT(world.history.bytes(), bytes);
}

TEST(RateHistory, ANodeThatRenamesItsPortsHasNoMoreThanItsShare) {
  World world(100'000, 5'000);
  for (int i = 0; i < 40; ++i) {
    world.snapshot.mutable_rdma_devices(0)->set_name("mlx5_" + std::to_string(i));
    world.Pass(3000);
    // There are ten nodes.
    if (i < 9) world.history.Take("n" + std::to_string(i + 2), {}, world.rates, world.now.wall);
  }
  EXPECT_LE(world.history.bytes(), 10'000u);
  const v1::CounterHistory history = world.history.Of("n1");
  EXPECT_TRUE(std::ranges::any_of(history.ports(), [](const v1::PortCounterHistory& port) {
    return port.device() == "mlx5_39";
  })) << "the ports that are there come first";
}

TEST(RateHistory, ForgetsANodeWithItsBytes) {
  World world;
  world.Pass(3000);
  EXPECT_GT(world.history.bytes(), 0u);
  world.history.Forget("n1");
  EXPECT_EQ(world.history.bytes(), 0u);
  EXPECT_EQ(world.history.Of("n1").ended_at_size(), 0);
}

}  // namespace
}  // namespace fabric::fleet
