#include "daemon/fleet/fleet.h"

#include <gtest/gtest.h>

#include "tests/testing/nodes.h"

namespace fabric::fleet {
namespace {

Moment At(int seconds) {
  return {SteadyTime(std::chrono::seconds(seconds)), WallTime(std::chrono::seconds(seconds))};
}

TEST(Fleet, KeepsTheNewestSnapshotOfANode) {
  Fleet fleet;
  v1::NodeSnapshot node = testing::LabNode({.number = 1});
  fleet.Put(node, At(1));
  testing::SetMtu(node, 0, 1500);
  fleet.Put(node, At(2));
  ASSERT_EQ(fleet.nodes().size(), 1U);
  const NodeRecord& record = *fleet.Find("n1");
  EXPECT_EQ(record.snapshot.net_interfaces(1).mtu_bytes(), 1500U);
  EXPECT_EQ(record.state, v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(record.state_since.steady, At(1).steady) << "it was connected all the time";
  EXPECT_EQ(record.reported_at.steady, At(2).steady);
}

TEST(Fleet, AppliesChanges) {
  Fleet fleet;
  fleet.Put(testing::LabNode({.number = 1}), At(1));
  v1::SnapshotChange change;
  change.add_removed_rdma_devices("rxe1");
  ASSERT_TRUE(fleet.Change("n1", change, At(2)).ok());
  EXPECT_EQ(fleet.Find("n1")->snapshot.rdma_devices_size(), 1);
  EXPECT_EQ(fleet.Find("n1")->reported_at.steady, At(2).steady);
}

TEST(Fleet, RefusesAChangeOfANodeThatHasNotReported) {
  Fleet fleet;
  const Status status = fleet.Change("n7", {}, At(1));
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("n7"), std::string::npos);
}

TEST(Fleet, ALostNodeKeepsItsFirstReasonUntilItReports) {
  Fleet fleet;
  fleet.Put(testing::LabNode({.number = 1}), At(1));
  fleet.MarkLost("n1", "no message for 3 s", At(5));
  fleet.MarkLost("n1", "stream closed", At(6));
  EXPECT_EQ(fleet.Find("n1")->state, v1::NODE_STATE_LOST);
  EXPECT_EQ(fleet.Find("n1")->state_since.steady, At(5).steady);
  EXPECT_EQ(fleet.Find("n1")->lost_reason, "no message for 3 s");
  fleet.Put(testing::LabNode({.number = 1}), At(9));
  EXPECT_EQ(fleet.Find("n1")->state, v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(fleet.Find("n1")->state_since.steady, At(9).steady);
  EXPECT_EQ(fleet.Find("n1")->lost_reason, "");
}

TEST(Fleet, ARestoredNodeIsLostUntilItReports) {
  Fleet fleet;
  fleet.Restore({.name = "n1",
                 .state_since = At(1),
                 .lost_reason = "fabricd was restarted",
                 .snapshot = testing::LabNode({.number = 1})},
                {});
  EXPECT_EQ(fleet.Find("n1")->state, v1::NODE_STATE_LOST);
  fleet.MarkConnected("n1", At(2));
  EXPECT_EQ(fleet.Find("n1")->state, v1::NODE_STATE_CONNECTED);
}

TEST(Fleet, MarksOfUnknownNodesDoNothing) {
  Fleet fleet;
  fleet.MarkLost("n1", "gone", At(1));
  fleet.MarkConnected("n1", At(1));
  EXPECT_EQ(fleet.Find("n1"), nullptr);
}

}  // namespace
}  // namespace fabric::fleet
