// Tables and samples that no honest agent sends; those that one does are in counters/feed_test.cc.
#include "daemon/fleet/counter_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/json.h"

namespace fabric::fleet {
namespace {

template <class Message>
Message Parse(const std::string& json) {
  Message message;
  EXPECT_EQ(FromJson(json, message), Status());
  return message;
}

class CounterStreamTest : public ::testing::Test {
 protected:
  CounterStreamTest() {
    EXPECT_EQ(stream.Take(Parse<v1::CounterTable>(R"({"table_id": 3, "sets": [
        {"netdev": "eth0", "counters": [{"name": "a", "value": 10}]},
        {"netdev": "eth1"},
        {"netdev": "eth2", "counters": [{"name": "b", "value": 20}, {"name": "c", "value": 30}]}
      ]})"),
                          node),
              Status());
  }
  Status Take(const std::string& json) { return stream.Take(Parse<v1::CounterSample>(json), node); }

  CounterStream stream;
  v1::NodeSnapshot node;
};

TEST_F(CounterStreamTest, WhatCannotBeIsRefusedAndChangesNothing) {
  const std::string before = node.DebugString();
  for (const char* sample : {
           R"({"table_id": 3, "index_steps": [3], "deltas": [1]})",
           R"({"table_id": 3, "index_steps": [0, 1], "deltas": [1]})",
           R"({"table_id": 3, "deltas": [1]})",
           R"({"table_id": 3, "index_steps": [1, 0], "deltas": [1, 1]})",
           R"({"table_id": 3, "index_steps": [1, 4294967295], "deltas": [1, 1]})",
           R"({"table_id": 3, "resets": [3]})",
           R"({"table_id": 3, "resets": [1, 1]})",
           R"({"table_id": 3, "index_steps": [0], "deltas": [1], "saturated": [4294967295]})",
           R"({"table_id": 3, "index_steps": [0], "deltas": [1], "lost": [2, 1]})",
       }) {
    EXPECT_EQ(Take(sample).code(), Code::kInvalidArgument) << sample;
    EXPECT_EQ(node.DebugString(), before) << sample;
  }
}

TEST_F(CounterStreamTest, ASampleOfAnotherTableIsOutOfStep) {
  EXPECT_EQ(Take(R"({"table_id": 2})").code(), Code::kFailedPrecondition);
  EXPECT_EQ(Take(R"({"table_id": 3})"), Status());
  stream.Reset();
  EXPECT_EQ(Take(R"({"table_id": 3})").code(), Code::kFailedPrecondition);
  EXPECT_EQ(CounterStream().Take(v1::CounterSample(), node).code(), Code::kFailedPrecondition);
}

TEST_F(CounterStreamTest, WhatIsLostStaysLost) {
  EXPECT_EQ(Take(R"({"table_id": 3, "lost": [0, 1]})"), Status());
  EXPECT_EQ(Take(R"({"table_id": 3, "index_steps": [0, 1, 1], "deltas": [1, 1, 1],
                     "resets": [0], "saturated": [1, 2], "lost": [1]})"),
            Status());
  EXPECT_EQ(node.counters(0).counters_size(), 0);
  ASSERT_EQ(node.counters(2).counters_size(), 1);
  EXPECT_EQ(node.counters(2).counters(0).name(), "c");
  EXPECT_EQ(node.counters(2).counters(0).value(), 31u);
  EXPECT_TRUE(node.counters(2).counters(0).saturated());
}

TEST_F(CounterStreamTest, ATableHasBounds) {
  v1::CounterTable table;
  for (int i = 0; i < 4097; ++i) table.add_sets();
  EXPECT_EQ(stream.Take(table, node).code(), Code::kInvalidArgument);
  table.clear_sets();
  table.add_sets()->add_counters()->set_name(std::string(257, 'x'));
  EXPECT_EQ(stream.Take(table, node).code(), Code::kInvalidArgument);
  table.clear_sets();
  table.add_sets();
  for (int i = 0; i < 65537; ++i) table.mutable_sets(0)->add_counters();
  EXPECT_EQ(stream.Take(table, node).code(), Code::kInvalidArgument);
  EXPECT_EQ(node.counters_size(), 3) << "what was there is still there";
  table.mutable_sets(0)->mutable_counters()->RemoveLast();
  EXPECT_EQ(stream.Take(table, node), Status());
}

}  // namespace
}  // namespace fabric::fleet
