// What the agent says of counters, and what the controller makes of it.
#include "agents/counters/feed.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/fleet/counter_stream.h"

namespace fabric::counters {
namespace {

// Two sets of two counters: a b | c d.
CounterSets Sets() {
  CounterSets sets;
  for (const auto& names : {std::pair{"a", "b"}, std::pair{"c", "d"}}) {
    v1::CounterSet& set = *sets.Add();
    set.set_netdev(Format("eth{}", sets.size() - 1));
    set.add_counters()->set_name(names.first);
    set.add_counters()->set_name(names.second);
  }
  return sets;
}

class FeedTest : public ::testing::Test {
 protected:
  FeedTest() {
    feed.SetTable({.number = 1, .sets = Sets()});
    Sampled({{1}, {2}, {3}, {4}});
  }

  void Sampled(std::vector<Value> values, std::uint64_t table = 1) {
    feed.SetSample({.table = table, .taken_at = {}, .values = std::move(values)});
  }

  // Hands everything on, as the agent and the controller do.
  void Exchange() {
    if (const auto table = feed.NextTable()) {
      EXPECT_EQ(controller.Take(*table, node), Status());
    }
    if (const auto sample = feed.NextSample()) {
      EXPECT_EQ(controller.Take(*sample, node), Status());
    }
  }

  // What the controller has: "a=1 b=2! | c=3".
  std::string Controller() const {
    std::string line;
    for (const v1::CounterSet& set : node.counters()) {
      line += line.empty() ? "" : " |";
      for (const v1::Counter& counter : set.counters())
        line += Format("{}{}={}{}", line.empty() ? "" : " ", counter.name(), counter.value(),
                       counter.saturated() ? "!" : "");
    }
    return line;
  }

  Feed feed;
  fleet::CounterStream controller;
  v1::NodeSnapshot node;
};

TEST_F(FeedTest, TheTableComesFirstWithItsValues) {
  EXPECT_FALSE(feed.NextSample());
  Exchange();
  EXPECT_EQ(Controller(), "a=1 b=2 | c=3 d=4");
  EXPECT_FALSE(feed.NextTable());
  EXPECT_FALSE(feed.NextSample()) << "nothing has changed";
}

TEST_F(FeedTest, OnlyWhatHasChangedIsSent) {
  Exchange();
  Sampled({{1}, {7}, {3}, {9}});
  const auto sample = feed.NextSample();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->index_steps_size(), 2);
  EXPECT_EQ(controller.Take(*sample, node), Status());
  EXPECT_EQ(Controller(), "a=1 b=7 | c=3 d=9");
}

TEST_F(FeedTest, ASampleThatWasNotSentIsInTheNext) {
  Exchange();
  Sampled({{1}, {7}, {3}, {4}});
  Sampled({{1}, {7}, {8}, {4}});
  Exchange();
  EXPECT_EQ(Controller(), "a=1 b=7 | c=8 d=4");
}

TEST_F(FeedTest, ResetsAndSaturationAreSeen) {
  Exchange();
  Sampled({{15, 0, true}, {1, 1}, {3, 1}, {4}});
  const auto sample = feed.NextSample();
  ASSERT_TRUE(sample);
  ASSERT_EQ(sample->resets_size(), 2) << "also where the value is the same again";
  EXPECT_EQ(sample->resets(0), 1u);
  EXPECT_EQ(sample->resets(1), 2u);
  EXPECT_EQ(controller.Take(*sample, node), Status());
  EXPECT_EQ(Controller(), "a=15! b=1 | c=3 d=4");
  Sampled({{2, 1}, {1, 1}, {3, 1}, {4}});
  Exchange();
  EXPECT_EQ(Controller(), "a=2 b=1 | c=3 d=4");
}

TEST_F(FeedTest, WhatIsLostIsNotThereAndTheOthersGoOn) {
  Exchange();
  Sampled({{.lost = true}, {2}, {.lost = true}, {5}});
  Exchange();
  EXPECT_EQ(Controller(), "b=2 | d=5");
  Sampled({{.lost = true}, {8}, {.lost = true}, {.lost = true}});
  Exchange();
  EXPECT_EQ(Controller(), "b=8 |");
  feed.Restart();
  Sampled({{.lost = true}, {8}, {6}, {7}});
  Exchange();
  EXPECT_EQ(Controller(), "b=8 | c=6 d=7");
  Sampled({{.lost = true}, {8}, {6}, {9}});
  Exchange();
  EXPECT_EQ(Controller(), "b=8 | c=6 d=9");
}

TEST_F(FeedTest, ANewTableReplacesTheOldAndItsSamples) {
  Exchange();
  feed.SetTable({.number = 2, .sets = Sets()});
  EXPECT_FALSE(feed.NextTable()) << "without values it says nothing";
  Sampled({{9}, {9}, {9}, {9}}, 1);
  EXPECT_FALSE(feed.NextTable()) << "those of another table";
  Sampled({{5}, {6}, {7}, {8}}, 2);
  Exchange();
  EXPECT_EQ(Controller(), "a=5 b=6 | c=7 d=8");
}

// 477 counters that all move, as those of ports at 400 Gb/s do, in one second.
TEST_F(FeedTest, ABusySecondIsSmall) {
  CounterSets table;
  v1::CounterSet& set = *table.Add();
  std::vector<Value> before(477);
  std::vector<Value> after(477);
  for (std::size_t i = 0; i < before.size(); ++i) {
    set.add_counters()->set_name(Format("counter_{}", i));
    before[i].value = 1'000'000'000'000'000;
    const bool of_bytes = i % 53 < 2;
    after[i].value = before[i].value + (of_bytes ? 50'000'000'000 : i % 2 == 0 ? 12'000'000 : 40);
  }
  feed.SetTable({.number = 2, .sets = table});
  Sampled(before, 2);
  ASSERT_TRUE(feed.NextTable());
  Sampled(after, 2);
  const auto sample = feed.NextSample();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->deltas_size(), 477);
  EXPECT_LT(sample->ByteSizeLong(), 2000u);
}

}  // namespace
}  // namespace fabric::counters
