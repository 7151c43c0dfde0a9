// Settings that a whole fleet has: compared between rails, classes and priorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;

using Fleet = std::vector<v1::NodeSnapshot>;

Fleet RoceFleet(std::uint32_t rails) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = rails});
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < rails; ++rail) {
      testing::DeviceOf(node, rail).set_model("ConnectX-7");
      testing::DeviceOf(node, rail).set_board_id("MT_0000000838");
    }
  return nodes;
}

TEST(LosslessClassBetweenRails, NamesTheRailThatDiffers) {
  Fleet nodes = RoceFleet(4);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (auto& node : nodes) testing::SetPfc(node, 2, 0x10);
  const Evaluation evaluation = JudgeWithCauses(nodes);
  std::vector<std::string> titles;
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.rule() == "lossless_class_equal_between_rails") titles.push_back(finding.title());
  EXPECT_THAT(titles, ElementsAre("PFC enabled priorities 4 on rail 2 and 3 on rail 0, expected "
                                  "the same: jobs use all rails with one traffic class"));
}

TEST(LosslessClassBetweenRails, ComparesTrustAndMap) {
  Fleet nodes = RoceFleet(4);
  for (auto& node : nodes) testing::MapDscp(node, 1, 24, 2);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "lossless_class_equal_between_rails");
  EXPECT_THAT(finding.title(), HasSubstr("priority of DSCP 24 2 on rail 1 and 3 on rail 0"));
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("dcb app show dev rail1"));
  for (auto& node : nodes) {
    testing::MapDscp(node, 1, 24, 3);
    testing::MapDscp(node, 1, 40, 2);
  }
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "lossy on all rails";
}

TEST(LosslessClassBetweenRails, LeavesSettingsOfAProfileAndOfOneNode) {
  Fleet nodes = RoceFleet(4);
  for (auto& node : nodes) testing::MapDscp(node, 1, 24, 2);
  v1::Expectations expect;
  expect.set_data_priority(3);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  nodes.resize(1);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "one node has no usual setting of a rail";
}

TEST(DataClassApart, FailsWhereLossyPrioritiesShareTheQueue) {
  Fleet nodes = RoceFleet(1);
  for (auto& node : nodes) NetdevOf(node, 0).mutable_dcb()->mutable_ets()->set_priority_to_tc(5, 3);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("data_class_apart n1/mlx5_0/1", "data_class_apart n2/mlx5_0/1",
                          "data_class_apart n3/mlx5_0/1"));
  const Evaluation evaluation = Judge(nodes);
  ASSERT_FALSE(evaluation.findings.empty());
  const v1::Finding& finding = evaluation.findings[0];
  EXPECT_EQ(finding.title(),
            "lossy priorities in class 3 of priority 3 5, expected none (PFC of the priority)");
  EXPECT_THAT(finding.remedies(0).command(), HasSubstr("prio-tc 3:5 tc-tsa"));
  EXPECT_THAT(finding.remedies(0).undo(), HasSubstr("prio-tc 3:3 tc-tsa"));
  for (auto& node : nodes) NetdevOf(node, 0).mutable_dcb()->mutable_ets()->set_capability(1);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the card has one class";
}

TEST(IommuEqual, ComparesNodesWithoutGpus) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.gpu = false});
  for (auto& node : nodes)
    for (v1::PciFunction& function : *node.mutable_pci_functions()) {
      function.set_iommu_type("identity");
      function.set_iommu_group("7");
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (v1::PciFunction& function : *nodes[1].mutable_pci_functions())
    function.set_iommu_type("DMA-FQ");
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "iommu_equal");
  EXPECT_THAT(finding.title(), HasSubstr("translates (DMA), expected passes through (identity)"));
  EXPECT_THAT(finding.remedies(0).note(), HasSubstr("iommu"));
}

TEST(PortActive, BondIsInUseByTheAddressOfItsVlan) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 1, .gpu = false});
  NetdevOf(nodes[0], 0).clear_addresses();
  testing::LinkDown(nodes[0], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n1/mlx5_0/1")) << "it has a GID with IPv4";
}

}  // namespace
}  // namespace fabric::rules
