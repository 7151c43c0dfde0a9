// fabric_card_present: a card that is gone gives one finding, and no other rail changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Nodes;

TEST(VanishedCard, GivesExactlyOneFindingThatNamesAddressAndSlot) {
  for (const bool infiniband : {false, true}) {
    for (std::uint32_t rail = 0; rail < 8; ++rail) {
      auto nodes = Nodes(8, infiniband ? testing::InfinibandNode : testing::RoceNode,
                         {.rails = 8, .gpu = false});
      for (auto& node : nodes)
        for (std::uint32_t r = 0; r < 8; ++r)
          testing::FunctionOfRail(node, r).set_slot(Format("{}", r + 1));
      const std::string address = testing::FunctionOfRail(nodes[3], rail).address();
      testing::RemoveCard(nodes[3], rail);
      const v1::Finding finding = TheFailure(nodes);
      EXPECT_EQ(finding.rule(), "fabric_card_present");
      EXPECT_EQ(finding.title(),
                Format("1 fabric card missing: {} in slot {} (rail {})", address, rail + 1, rail));
      EXPECT_EQ(finding.evidence(0).source(), "sys/bus/pci/devices/" + address);
      EXPECT_EQ(finding.subject().node(), "n4");
      // The kernel renumbers the devices at boot.
      for (int i = 0; i < nodes[3].rdma_devices_size(); ++i)
        nodes[3].mutable_rdma_devices(i)->set_name(Format("mlx5_{}", i));
      EXPECT_THAT(Failures(nodes), ElementsAre("fabric_card_present n4")) << rail;
    }
  }
}

TEST(VanishedCard, LeavesRailsComparable) {
  auto nodes = Nodes(8, testing::RoceNode, {.rails = 8, .gpu = false});
  testing::RemoveCard(nodes[3], 0);
  testing::SetMtu(nodes[3], 6, 1500);  // Rail 7
  const auto failures = Failures(nodes);
  EXPECT_THAT(failures, ElementsAre("fabric_card_present n4", "mtu_equal_on_rail n4/mlx5_7/1"));
}

TEST(VanishedCard, IsTheFindingOfTheDriverWhileTheBusShowsTheCard) {
  auto nodes = Nodes(8, testing::RoceNode, {.rails = 8, .gpu = false});
  testing::FunctionOfRail(nodes[3], 2).clear_driver();
  const v1::PciFunction function = testing::FunctionOfRail(nodes[3], 2);
  testing::RemoveCard(nodes[3], 2);
  *nodes[3].add_pci_functions() = function;
  std::sort(nodes[3].mutable_pci_functions()->begin(), nodes[3].mutable_pci_functions()->end(),
            [](const auto& a, const auto& b) { return a.address() < b.address(); });
  EXPECT_THAT(Failures(nodes), ElementsAre("rdma_card_has_driver n4"));
}

TEST(VanishedCard, IsMissingWhenItIsPassedThrough) {
  auto nodes = Nodes(8, testing::RoceNode, {.rails = 8, .gpu = false});
  v1::PciFunction function = testing::FunctionOfRail(nodes[3], 7);
  function.set_driver("vfio-pci");
  testing::RemoveCard(nodes[3], 7);
  *nodes[3].add_pci_functions() = function;
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "fabric_card_present");
  EXPECT_EQ(finding.evidence(0).seen(), "no RDMA device, driver vfio-pci");
}

TEST(VanishedCard, IsKnownFromTheProfileOnASingleNode) {
  auto nodes = Nodes(1, testing::RoceNode, {.rails = 4, .gpu = false});
  v1::Expectations expect;
  for (std::uint32_t rail = 0; rail < 4; ++rail)
    expect.add_rail_cards(testing::FunctionOfRail(nodes[0], rail).address());
  testing::RemoveCard(nodes[0], 1);
  const v1::Finding finding = TheFailure(nodes, Expecting(expect));
  EXPECT_EQ(finding.rule(), "fabric_card_present");
  EXPECT_THAT(finding.title(), HasSubstr("0000:18:00.0 (rail 1)"));
  EXPECT_EQ(finding.evidence(0).basis(), "profile test");
}

}  // namespace
}  // namespace fabric::rules
