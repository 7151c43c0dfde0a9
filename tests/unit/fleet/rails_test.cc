#include "daemon/fleet/rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/fleet_view.h"
#include "tests/testing/node_machine.h"
#include "tests/testing/nodes.h"

namespace fabric::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::RoceNode;

std::vector<NodeRecord> RecordsOf(const std::vector<v1::NodeSnapshot>& nodes,
                                  const profile::Profile& profile = {}) {
  std::vector<NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  AssignRails(records, profile);
  return records;
}

// "0 mlx5_0 product" for each port with a rail.
std::vector<std::string> RailsOfNode(const NodeRecord& record) {
  ExpectationTable expectations;
  const NodeView view = ViewOf(record, profile::Profile(), expectations);
  std::vector<std::string> rails;
  for (const PortView& port : view.ports)
    if (port.rail)
      rails.push_back(Format("{} {} {}", port.rail->value(), port.device->name(),
                             RailSourceName(port.rail_source)));
  return rails;
}

std::vector<std::string> MissingOn(const NodeRecord& record) {
  std::vector<std::string> missing;
  for (const MissingCard& card : record.rails.missing)
    missing.push_back(Format("{} {} {}", card.rail.value(), card.place, card.slot));
  return missing;
}

TEST(Rails, FollowTheOrderOnASingleNode) {
  const auto records = RecordsOf(Nodes(1, RoceNode, {.rails = 2}));
  EXPECT_THAT(RailsOfNode(records[0]), ElementsAre("0 mlx5_0 order", "1 mlx5_1 order"));
}

TEST(Rails, StayWhenACardOfANodeIsMissing) {
  auto nodes = Nodes(8, RoceNode, {.rails = 4});
  for (auto& node : nodes) testing::FunctionOfRail(node, 1).set_slot("5");
  testing::RemoveCard(nodes[0], 1);  // The first node that reports
  const auto records = RecordsOf(nodes);
  EXPECT_THAT(RailsOfNode(records[0]),
              ElementsAre("0 mlx5_0 product", "2 mlx5_2 product", "3 mlx5_3 product"));
  EXPECT_THAT(MissingOn(records[0]), ElementsAre("1 0000:18:00.0 5"));
  EXPECT_THAT(MissingOn(records[1]), IsEmpty());
  EXPECT_THAT(RailsOfNode(records[1]), ElementsAre("0 mlx5_0 product", "1 mlx5_1 product",
                                                   "2 mlx5_2 product", "3 mlx5_3 product"));
}

// After a boot without the card, the kernel renumbers the later devices.
TEST(Rails, DoNotDependOnNames) {
  auto nodes = Nodes(3, RoceNode, {.rails = 4});
  testing::RemoveCard(nodes[2], 0);
  for (int i = 0; i < 3; ++i) nodes[2].mutable_rdma_devices(i)->set_name(Format("mlx5_{}", i));
  EXPECT_THAT(RailsOfNode(RecordsOf(nodes)[2]),
              ElementsAre("1 mlx5_0 product", "2 mlx5_1 product", "3 mlx5_2 product"));
}

TEST(Rails, OfTwoNodesTheOneWithMoreCardsDecides) {
  auto nodes = Nodes(2, RoceNode, {.rails = 4});
  testing::RemoveCard(nodes[1], 2);
  const auto records = RecordsOf(nodes);
  EXPECT_THAT(MissingOn(records[1]), ElementsAre("2 0000:19:00.0 "));
  EXPECT_THAT(MissingOn(records[0]), IsEmpty());
}

TEST(Rails, OfACardInAnotherSlotComeFromItsSubnet) {
  auto nodes = Nodes(4, RoceNode, {.rails = 4});
  testing::DeviceOf(nodes[1], 1).set_pci_address("0000:e1:00.0");
  testing::DeviceOf(nodes[1], 2).set_pci_address("0000:d1:00.0");
  EXPECT_THAT(
      RailsOfNode(RecordsOf(nodes)[1]),
      ElementsAre("0 mlx5_0 product", "1 mlx5_1 network", "2 mlx5_2 network", "3 mlx5_3 product"));
  for (const std::uint32_t rail : {1U, 2U}) testing::DropAddress(nodes[1], rail);
  EXPECT_THAT(RailsOfNode(RecordsOf(nodes)[1]), ElementsAre("0 mlx5_0 product", "1 mlx5_2 order",
                                                            "2 mlx5_1 order", "3 mlx5_3 product"))
      << "without a subnet the rails that are left, in order";
}

TEST(Rails, OfAnAddedCardFollow) {
  auto nodes = Nodes(4, RoceNode, {.rails = 3});
  nodes[2] = Nodes(4, RoceNode, {.rails = 4})[2];
  testing::DeviceOf(nodes[2], 3).set_pci_address("0000:01:00.0");
  EXPECT_THAT(RailsOfNode(RecordsOf(nodes)[2]), ElementsAre("0 mlx5_0 product", "1 mlx5_1 product",
                                                            "2 mlx5_2 product", "3 mlx5_3 order"));
}

TEST(Rails, OfOtherProductsAreIndependent) {
  auto nodes = Nodes(4, RoceNode, {.rails = 4});
  testing::RemoveCard(nodes[3], 0);
  nodes[3].mutable_host()->set_product("another server");
  const auto records = RecordsOf(nodes);
  EXPECT_THAT(MissingOn(records[3]), IsEmpty());
  EXPECT_EQ(RailsOfNode(records[3])[0], "0 mlx5_1 order");
}

TEST(Rails, OfACommonConfigurationWithFewerCardsAreItsOwn) {
  auto nodes = Nodes(6, RoceNode, {.rails = 4});
  for (const int node : {3, 4, 5}) testing::RemoveCard(nodes[static_cast<std::size_t>(node)], 1);
  const auto records = RecordsOf(nodes);
  EXPECT_THAT(MissingOn(records[4]), IsEmpty());
}

TEST(Rails, AreRememberedOnTheOnlyNode) {
  Fleet fleet;
  auto node = RoceNode({.number = 1, .rails = 4});
  fleet.Put(node, {});
  testing::RemoveCard(node, 1);
  fleet.Put(node, {});
  EXPECT_THAT(RailsOfNode(*fleet.Find("n1")),
              ElementsAre("0 mlx5_0 past", "2 mlx5_2 past", "3 mlx5_3 past"));
  EXPECT_THAT(MissingOn(*fleet.Find("n1")), ElementsAre("1 0000:18:00.0 "));
}

TEST(Rails, AreRememberedWhenAllCardsAreGone) {
  Fleet fleet;
  auto nodes = Nodes(2, RoceNode, {.rails = 2, .gpu = false});
  for (const v1::NodeSnapshot& node : nodes) fleet.Put(node, {});
  for (v1::NodeSnapshot& node : nodes) {
    testing::RemoveCard(node, 1);
    testing::RemoveCard(node, 0);
    fleet.Put(node, {});
  }
  EXPECT_THAT(MissingOn(*fleet.Find("n1")), ElementsAre("0 0000:17:00.0 ", "1 0000:18:00.0 "));
  EXPECT_THAT(MissingOn(*fleet.Find("n2")), ElementsAre("0 0000:17:00.0 ", "1 0000:18:00.0 "));
}

TEST(Rails, OfAHeadNodeAreNotMissing) {
  for (const bool gpu : {false, true}) {
    auto nodes = Nodes(4, RoceNode, {.rails = 1, .gpu = gpu});
    testing::RemoveCard(nodes[0], 0);
    const auto records = RecordsOf(nodes);
    EXPECT_EQ(MissingOn(records[0]).size(), gpu ? 1 : 0) << "a node with GPUs is not a head node";
  }
}

// The controller restarts: what the state file has is the snapshot and the memory.
TEST(Rails, AreRememberedAcrossARestart) {
  Fleet before;
  auto node = RoceNode({.number = 1, .rails = 4});
  before.Put(node, {});
  testing::RemoveCard(node, 1);
  before.Put(node, {});
  Fleet after;
  after.Restore({.name = "n1", .snapshot = node}, before.MemoryOf(*before.Find("n1")));
  EXPECT_THAT(RailsOfNode(*after.Find("n1")),
              ElementsAre("0 mlx5_0 past", "2 mlx5_2 past", "3 mlx5_3 past"));
  after.Put(node, {});
  EXPECT_THAT(MissingOn(*after.Find("n1")), ElementsAre("1 0000:18:00.0 "));
  EXPECT_EQ(after.MemoryOf(*after.Find("n1")).rails_size(), 4) << "for the next restart";
}

TEST(Rails, OfARemovedNodeDecideNothing) {
  Fleet fleet;
  auto nodes = Nodes(4, RoceNode, {.rails = 4});
  for (const int node : {2, 3}) testing::RemoveCard(nodes[static_cast<std::size_t>(node)], 1);
  for (const v1::NodeSnapshot& node : {nodes[0], nodes[1], nodes[2]}) fleet.Put(node, {});
  EXPECT_THAT(MissingOn(*fleet.Find("n3")), ElementsAre("1 0000:18:00.0 "));
  (void)fleet.TakeChanged();
  fleet.Remove("n1");
  fleet.Remove("n2");
  EXPECT_THAT(MissingOn(*fleet.Find("n3")), IsEmpty()) << "no other node has this card";
  EXPECT_THAT(fleet.TakeChanged(), ::testing::Contains("n3"));
  fleet.Put(nodes[0], {});
  fleet.Remove("n1");
  EXPECT_EQ(fleet.MemoryOf(NodeRecord{.name = "n1"}).rails_size(), 0) << "no past of it is kept";
}

TEST(Rails, OfAFleetAreTheSameInAnyOrderOfReports) {
  auto nodes = Nodes(5, RoceNode, {.rails = 4});
  testing::RemoveCard(nodes[0], 2);
  Fleet forwards;
  Fleet backwards;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    forwards.Put(nodes[i], {});
    backwards.Put(nodes[nodes.size() - 1 - i], {});
  }
  EXPECT_THAT(forwards.TakeChanged(), ::testing::Contains("n1"));
  EXPECT_THAT(forwards.TakeChanged(), IsEmpty());
  for (const auto& [name, record] : forwards.nodes())
    EXPECT_EQ(record.rails, backwards.Find(name)->rails) << name;
}

TEST(Rails, OfTheProfileComeFirst) {
  auto nodes = Nodes(2, RoceNode, {.rails = 3});
  testing::FunctionOfRail(nodes[0], 2).set_slot("7");
  v1::Profile profile;
  profile.set_name("site");
  for (const char* card : {"7", "0000:17:00.0", "0000:99:00.0"})
    profile.mutable_expect()->add_rail_cards(card);
  const auto made = profile::Profile::Make(profile, {});
  ASSERT_TRUE(made.ok());
  EXPECT_THAT(RailsOfNode(RecordsOf(nodes, *made)[0]),
              ElementsAre("0 mlx5_2 profile", "1 mlx5_0 profile", "2 mlx5_1 order"));
}

// The first GPU is near the second card.
std::vector<v1::NodeSnapshot> CrossedGpus() {
  auto nodes = Nodes(2, RoceNode, {.rails = 3});
  for (v1::NodeSnapshot& node : nodes) {
    node.clear_gpus();
    node.clear_gpu_nic_paths();
    for (const auto& [gpu, device] :
         {std::pair("0000:1b:00.0", "mlx5_1"), {"0000:2b:00.0", "mlx5_0"}}) {
      node.add_gpus()->set_pci_address(gpu);
      for (const char* each : {"mlx5_0", "mlx5_1", "mlx5_2"}) {
        v1::GpuNicPath& path = *node.add_gpu_nic_paths();
        path.set_gpu(gpu);
        path.set_device(each);
        path.set_distance(each == std::string_view(device) ? v1::PCI_DISTANCE_PIX
                                                           : v1::PCI_DISTANCE_SYS);
      }
    }
    node.mutable_gpu_nic_paths()->DeleteSubrange(5, 1);  // mlx5_2 is near no GPU
    node.mutable_gpu_nic_paths()->DeleteSubrange(2, 1);
  }
  return nodes;
}

TEST(Rails, FollowTheNearestGpuByTheProfile) {
  v1::Profile by_gpu;
  by_gpu.set_name("site");
  by_gpu.mutable_expect()->add_rail_cards("gpu");
  const auto profile = profile::Profile::Make(by_gpu, {});
  ASSERT_TRUE(profile.ok());
  auto nodes = CrossedGpus();
  EXPECT_THAT(RailsOfNode(RecordsOf(nodes, *profile)[0]),
              ElementsAre("0 mlx5_1 gpu", "1 mlx5_0 gpu", "2 mlx5_2 order"));
  testing::RemoveCard(nodes[0], 1);
  EXPECT_THAT(RailsOfNode(RecordsOf(nodes, *profile)[0]),
              ElementsAre("1 mlx5_0 gpu", "2 mlx5_2 order"));
}

}  // namespace
}  // namespace fabric::fleet
