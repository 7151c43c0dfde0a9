#include "proto/snapshot_change.h"

#include <gtest/gtest.h>

namespace fabric {
namespace {

v1::NodeSnapshot Node() {
  v1::NodeSnapshot snapshot;
  snapshot.mutable_node()->set_name("n1");
  for (const char* name : {"rxe0", "rxe1"}) snapshot.add_rdma_devices()->set_name(name);
  auto* netdev = snapshot.add_net_interfaces();
  netdev->set_name("rail0");
  netdev->set_mtu_bytes(4200);
  netdev->mutable_dcb()->mutable_pfc()->set_enabled_mask(8);
  return snapshot;
}

TEST(Difference, NothingForTheSame) {
  EXPECT_FALSE(Difference(Node(), Node()));
}

TEST(Difference, CountersAreNoSetting) {
  v1::NodeSnapshot after = Node();
  after.add_counters()->set_device("rxe1");
  EXPECT_FALSE(Difference(Node(), after));
}

TEST(Difference, MeasuredValuesCountWhenTheyDifferByMoreThanATenth) {
  const auto at = [](double module, double card) {
    v1::NodeSnapshot node = Node();
    node.mutable_net_interfaces(0)->mutable_module()->set_temperature_celsius(module);
    node.add_pci_functions()->add_sensors()->set_temperature_celsius(card);
    return node;
  };
  EXPECT_FALSE(Difference(at(50, 60), at(52, 63)));
  EXPECT_EQ(Difference(at(50, 60), at(58, 60))->net_interfaces_size(), 1);
  EXPECT_EQ(Difference(at(50, 60), at(50, 70))->fields_size(), 1);
  EXPECT_TRUE(Difference(Node(), at(50, 60)));
  v1::NodeSnapshot limit = at(50, 60);
  limit.mutable_pci_functions(0)->mutable_sensors(0)->set_critical_celsius(105);
  v1::NodeSnapshot other = limit;
  other.mutable_pci_functions(0)->mutable_sensors(0)->set_critical_celsius(104);
  EXPECT_TRUE(Difference(limit, other)) << "a limit is a setting";
}

TEST(Difference, AppliedGivesTheNewState) {
  v1::NodeSnapshot after = Node();
  after.mutable_rdma_devices()->DeleteSubrange(0, 1);
  after.mutable_rdma_devices(0)->set_firmware("2");
  after.add_rdma_devices()->set_name("rxe9");
  after.mutable_net_interfaces(0)->set_mtu_bytes(1500);
  after.add_gpus()->set_pci_address("0000:01:00.0");
  after.mutable_peer_memory()->set_nvidia_peermem_loaded(false);
  after.add_gaps()->set_path("sys/x");

  const auto change = Difference(Node(), after);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->rdma_devices_size(), 2);
  v1::NodeSnapshot snapshot = Node();
  Apply(*change, snapshot);

  EXPECT_EQ(snapshot.DebugString(), after.DebugString());
}

TEST(Difference, EmptiedListsAreCarried) {
  v1::NodeSnapshot before = Node();
  before.add_gaps()->set_path("sys/x");
  before.add_gpus()->set_pci_address("0000:01:00.0");
  const auto change = Difference(before, Node());
  ASSERT_TRUE(change);
  v1::NodeSnapshot snapshot = before;
  Apply(*change, snapshot);
  EXPECT_TRUE(snapshot.gaps().empty());
  EXPECT_TRUE(snapshot.gpus().empty());
}

// A list of 70,000 names took more than 16 s: each name copied the rest.
TEST(Apply, TakesEachFieldOnce) {
  v1::SnapshotChange change;
  for (int n = 0; n < 100'000; ++n) change.mutable_rest()->add_gaps()->set_path("sys/x");
  for (int n = 0; n < 70'000; ++n) change.add_fields("gaps");
  v1::NodeSnapshot snapshot = Node();
  Apply(std::move(change), snapshot);
  EXPECT_EQ(snapshot.gaps_size(), 100'000);
}

}  // namespace
}  // namespace fabric
