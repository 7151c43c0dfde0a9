#include "agents/counters/sampler.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "agents/inspect/inspector.h"
#include "base/text.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/temp_tree.h"
#include "tests/testing/tree_archive.h"

namespace fabric::counters {
namespace {

const std::string kCounters = "sys/class/infiniband/mlx5_0/ports/1/counters/";

class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() {
    Set(kCounters + "port_rcv_data", 100);
    Set(kCounters + "symbol_error", 0);
    v1::CounterSet& port = *found.Add();
    port.set_device("mlx5_0");
    port.set_port(1);
    AddTo(port, "port_rcv_data", v1::COUNTER_SOURCE_PORT, 400);
    AddTo(port, "symbol_error", v1::COUNTER_SOURCE_PORT, 0);
    v1::CounterSet& netdev = *found.Add();
    netdev.set_netdev("eth0");
    AddTo(netdev, "rx_prio3_pause", v1::COUNTER_SOURCE_ETHTOOL, 9);
  }

  static void AddTo(v1::CounterSet& set, const char* name, v1::CounterSource source,
                    std::uint64_t value) {
    v1::Counter& counter = *set.add_counters();
    counter.set_name(name);
    counter.set_source(source);
    counter.set_value(value);
  }
  void Set(const std::string& path, std::uint64_t value) { tree.File(path, Format("{}\n", value)); }
  // "400 0! 9": values, with "!" where saturated, "^N" after N resets, "-" where lost.
  static std::string Line(const Sampler& sampler) {
    std::string line;
    for (const Value& value : sampler.values()) {
      line += line.empty() ? "" : " ";
      line += value.lost ? "-" : std::to_string(value.value);
      if (value.saturated) line += "!";
      if (value.resets > 0) line += Format("^{}", value.resets);
    }
    return line;
  }

  testing::TempTree tree;
  testing::FakeHost fake{tree.path()};
  CounterSets found;
  Progress progress;
};

TEST_F(SamplerTest, ReadsWhatAnInspectionHasFound) {
  Sampler sampler(fake.host(), progress);
  EXPECT_TRUE(sampler.Plan(found));
  EXPECT_EQ(Line(sampler), "- - 9") << "of files nothing is known before the first reading";
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "400 0 9");
  Set(kCounters + "port_rcv_data", 150);
  Set(kCounters + "symbol_error", 65'535);
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "600 65535! 9");
  Set(kCounters + "symbol_error", 1);
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "600 1^1 9");
}

TEST_F(SamplerTest, WhatOnlyAnInspectionReadsHasItsValue) {
  Sampler sampler(fake.host(), progress);
  sampler.Plan(found);
  found.Mutable(1)->mutable_counters(0)->set_value(12);
  EXPECT_FALSE(sampler.Plan(found)) << "the table is the same";
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "400 0 12");
}

// As sysfs is read: the file is not asked again.
TEST_F(SamplerTest, ACounterThatFailsIsLostUntilAnInspectionFindsItAgain) {
  host::Host live = fake.host();
  live.captured = false;
  Sampler sampler(live, progress);
  sampler.Plan(found);
  sampler.Tick();
  tree.File(kCounters + "port_rcv_data", "");
  EXPECT_FALSE(sampler.Tick());
  EXPECT_EQ(Line(sampler), "- 0 9");
  Set(kCounters + "port_rcv_data", 110);
  EXPECT_FALSE(sampler.Tick());
  EXPECT_EQ(Line(sampler), "- 0 9");
  EXPECT_TRUE(sampler.Plan(found)) << "what was lost is in another table";
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "440 0 9");
}

TEST_F(SamplerTest, ACounterThatComesBackBeginsAnewAndNeedsItsTable) {
  Sampler sampler(fake.host(), progress);
  sampler.Plan(found);
  EXPECT_FALSE(sampler.Tick()) << "all are read for the first time";
  const std::filesystem::path device = tree.path() + "/sys/class/infiniband/mlx5_0";
  const std::filesystem::path away = tree.path() + "/sys/away";
  std::filesystem::rename(device, away);
  EXPECT_FALSE(sampler.Tick() || sampler.Tick());
  EXPECT_EQ(Line(sampler), "- - 9");
  std::filesystem::rename(away, device);
  Set(kCounters + "port_rcv_data", 3);
  EXPECT_TRUE(sampler.Tick() || sampler.Tick());
  EXPECT_EQ(Line(sampler), "12^1 0 9");
  EXPECT_FALSE(sampler.Tick());
}

TEST_F(SamplerTest, ACounterThatIsGoneBeforeItsFirstReadingIsLost) {
  const std::filesystem::path device = tree.path() + "/sys/class/infiniband/mlx5_0";
  const std::filesystem::path away = tree.path() + "/sys/away";
  for (const bool captured : {true, false}) {
    SCOPED_TRACE(captured ? "captured" : "live");
    host::Host host = fake.host();
    host.captured = captured;
    Sampler sampler(host, progress);
    std::filesystem::rename(device, away);
    sampler.Plan(found);
    EXPECT_FALSE(sampler.Tick() || sampler.Tick());
    EXPECT_EQ(Line(sampler), "- - 9");
    std::filesystem::rename(away, device);
    if (!captured) {
      EXPECT_TRUE(sampler.Plan(found)) << "the next inspection finds it";
    }
    EXPECT_EQ(sampler.Tick() || sampler.Tick(), captured) << "a captured tree is looked at again";
    EXPECT_EQ(Line(sampler), "400 0 9");
  }
}

TEST_F(SamplerTest, OneFileThatIsNotWhatItWasBeforeItsFirstReadingIsLost) {
  const std::string file = tree.path() + "/" + kCounters + "symbol_error";
  std::filesystem::remove(file);
  for (const char* what : {"gone", "a directory"}) {
    Sampler sampler(fake.host(), progress);
    sampler.Plan(found);
    sampler.Tick();
    EXPECT_EQ(Line(sampler), "400 - 9") << what;
    std::filesystem::create_directory(file);
  }
}

TEST_F(SamplerTest, TotalsGoOnWithAnotherTable) {
  found.Mutable(0)->mutable_counters(1)->set_width_bits(16);
  Sampler sampler(fake.host(), progress);
  sampler.Plan(found);
  sampler.Tick();
  Set(kCounters + "port_rcv_data", 1);
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "4^1 0 9");
  found.DeleteSubrange(1, 1);
  EXPECT_TRUE(sampler.Plan(found));
  EXPECT_EQ(Line(sampler), "4^1 0");
}

TEST_F(SamplerTest, AFailureThatMayPassIsBorneForAWhile) {
  fake.ethtool.status = Status();
  fake.ethtool.statistics["eth0"] = {{"rx_prio3_pause", 9}};
  Sampler sampler(fake.host(), progress);
  sampler.Plan(found);
  sampler.Tick();
  fake.ethtool.status = Status(Code::kUnavailable, "busy");
  sampler.Tick();
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "400 0 9");
  fake.ethtool.status = Status();
  fake.ethtool.statistics["eth0"] = {{"rx_prio3_pause", 10}};
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "400 0 10");
  fake.ethtool.status = Status(Code::kUnavailable, "busy");
  for (int i = 0; i < 3; ++i) sampler.Tick();
  EXPECT_EQ(Line(sampler), "400 0 -");
}

TEST_F(SamplerTest, ADeviceThatIsGoneLosesItsCountersAtOnce) {
  fake.ethtool.status = Status();
  fake.ethtool.statistics["eth0"] = {{"rx_prio3_pause", 9}};
  Sampler sampler(fake.host(), progress);
  sampler.Plan(found);
  sampler.Tick();
  fake.ethtool.statistics.clear();
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "400 0 -");
  EXPECT_EQ(WithValues(sampler.table(), sampler.values())[1].counters_size(), 0);
}

TEST_F(SamplerTest, SumsThatAnInspectionHasMadeAreMadeAgain) {
  const std::string hw = "sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
  Set(hw + "ip4OutOctets", 10);
  Set(hw + "ip6OutOctets", 5);
  found.Clear();
  v1::CounterSet& set = *found.Add();
  set.set_device("mlx5_0");
  set.set_port(1);
  for (const char* name : {"ip4OutOctets", "ip4OutOctets+ip6OutOctets", "ip6OutOctets"})
    AddTo(set, name, v1::COUNTER_SOURCE_HW, 0);
  Sampler sampler(fake.host(), progress);
  sampler.Plan(found);
  sampler.Tick();
  Set(hw + "ip6OutOctets", 7);
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "10 17 7");
  tree.File(hw + "ip4OutOctets", "");
  sampler.Tick();
  sampler.Tick();
  EXPECT_EQ(Line(sampler), "- - 7");
}

class Captured : public ::testing::TestWithParam<const char*> {};

TEST_P(Captured, SamplesAreWhatTheInspectionSaw) {
  const testing::Fixture tree(GetParam());
  testing::FakeHost fake(tree.path());
  const v1::NodeSnapshot node = inspect::Inspect(fake.host(), {.node_name = "n1", .now = {}});
  ASSERT_GT(node.counters_size(), 0);
  Progress progress;
  Sampler sampler(fake.host(), progress);
  ASSERT_TRUE(sampler.Plan(node.counters()));
  sampler.Tick();
  const CounterSets sampled = WithValues(sampler.table(), sampler.values());
  ASSERT_EQ(sampled.size(), node.counters_size());
  for (int i = 0; i < sampled.size(); ++i)
    EXPECT_EQ(sampled[i].DebugString(), node.counters(i).DebugString());
  EXPECT_FALSE(sampler.Plan(node.counters()));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Captured,
                         ::testing::Values("h100_infiniband", "roce_connectx6dx", "thor2_bnxt",
                                           "rxe_guest"),
                         [](const auto& story) { return story.param; });

}  // namespace
}  // namespace fabric::counters
