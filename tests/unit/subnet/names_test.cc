// Nodes with one description: unmanaged switches, adapters without a host name, several hosts of
// one name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "subnet/builder.h"
#include "subnet/changes.h"
#include "subnet/checks/check.h"
#include "subnet/exports/exports.h"
#include "subnet/files/formats.h"
#include "subnet/plan.h"
#include "subnet/words.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A fat tree whose switches and adapters have the names of the factory.
testing::TestSubnet Unnamed() {
  testing::TestSubnet made = testing::Make(testing::FatTree{.leaves = 4, .spines = 2, .hosts = 3});
  for (testing::TestNode& node : made.nodes)
    node.name =
        node.is_switch ? "Quantum Mellanox Technologies" : "MT4129 ConnectX7 Mellanox Technologies";
  return made;
}

// The plan of a tool that does not know GUIDs.
Plan ByName(const Subnet& subnet) {
  Plan plan = PlanOf("plan", subnet);
  for (PlannedCable& cable : plan.cables)
    for (PlannedEnd* const end : {&cable.from, &cable.to}) {
      end->node = BaseName(subnet.node(subnet.FindGuid(end->guid)));
      end->guid = 0;
    }
  return plan;
}

void ExpectEqual(const PlanComparison& found, std::size_t matching) {
  EXPECT_EQ(found.matching, matching);
  EXPECT_THAT(found.miswired, IsEmpty());
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_THAT(found.unplanned, IsEmpty());
}

TEST(SharedNames, HaveTheGuid) {
  const Subnet subnet = Unnamed().Read();
  EXPECT_EQ(NameOf(subnet.node(0)), "Quantum Mellanox Technologies 0000000010000000");
  EXPECT_EQ(NodeWords(subnet.node(subnet.port({0, 1}).peer)),
            "adapter 0x0000000020000060 MT4129 ConnectX7 Mellanox Technologies");
  const Subnet named = testing::Make(testing::FatTree{}).Read();
  EXPECT_EQ(NameOf(named.node(0)), "leaf-1");
}

TEST(SharedNames, ASubnetEqualsItsOwnPlan) {
  const Subnet subnet = Unnamed().Read();
  const std::size_t cables = subnet.Cables().size();
  ExpectEqual(Compare(PlanOf("golden", subnet), subnet), cables);
  ExpectEqual(Compare(ByName(subnet), subnet), cables);
  EXPECT_EQ(PlanFor(PlanOf("golden", subnet), subnet).cables.size(), cables);
}

TEST(SharedNames, TwoReadingsHaveNoChanges) {
  EXPECT_EQ(ChangesBetween(Unnamed().Read(), Unnamed().Read()).total(), 0);
}

TEST(SharedNames, AChangedCableIsFound) {
  const Subnet before = Unnamed().Read();
  testing::TestSubnet less = Unnamed();
  less.cables.pop_back();
  EXPECT_THAT(Compare(PlanOf("golden", before), less.Read()).missing, SizeIs(1));
  EXPECT_THAT(Compare(ByName(before), less.Read()).missing, SizeIs(1));
  EXPECT_THAT(Compare(ByName(less.Read()), before).unplanned, SizeIs(1));
  const v1::SubnetEvent event = ChangesBetween(before, less.Read());
  ASSERT_EQ(event.total(), 1);
  EXPECT_EQ(event.changes(0).kind(), v1::SUBNET_CHANGE_KIND_GONE);
  testing::TestSubnet swapped = Unnamed();
  std::swap(swapped.cables[0].from_port, swapped.cables[1].from_port);
  EXPECT_THAT(Compare(PlanOf("golden", before), swapped.Read()).miswired, SizeIs(2));
}

TEST(SharedNames, APlanCanListEqualCablesOnce) {
  const Subnet subnet = Unnamed().Read();
  Plan plan = ByName(subnet);
  std::set<std::string> seen;
  std::erase_if(plan.cables, [&](const PlannedCable& cable) {
    return !seen.insert(ToString(cable.from) + ToString(cable.to)).second;
  });
  ASSERT_LT(plan.cables.size(), subnet.Cables().size());
  const PlanComparison found = Compare(plan, subnet);
  EXPECT_THAT(found.unplanned, IsEmpty());
  EXPECT_THAT(found.missing, IsEmpty());
  EXPECT_EQ(found.not_covered, subnet.Cables().size() - plan.cables.size());
}

// The other switch of two with one name keeps its cables.
TEST(SharedNames, OneSwitchOfTwoThatIsGone) {
  testing::TestSubnet made = testing::Make(testing::FatTree{.leaves = 4, .spines = 2, .hosts = 1});
  made.nodes[4].name = made.nodes[5].name = "Quantum Mellanox Technologies";
  const Subnet before = made.Read();
  std::erase_if(made.cables, [](const testing::TestCable& cable) { return cable.to == 5; });
  made.nodes[5].name = "dark";  // No cable leads to it
  const Subnet now = made.Read();
  const PlanComparison found = Compare(PlanOf("golden", before), now);
  EXPECT_THAT(found.miswired, IsEmpty());
  EXPECT_THAT(found.missing, SizeIs(4));
  for (const MissingCable& each : found.missing)
    EXPECT_EQ(
        each.planned.to.node.starts_with("leaf") ? each.planned.from.node : each.planned.to.node,
        "Quantum Mellanox Technologies 0000000010000050");
}

TEST(SharedNames, AReplacedSwitchIsFoundByName) {
  testing::TestSubnet made = testing::Make(testing::FatTree{.leaves = 2, .spines = 2, .hosts = 1});
  const Plan golden = PlanOf("golden", made.Read());
  made.nodes[0].guid = 0x77;
  ExpectEqual(Compare(golden, made.Read()), golden.cables.size());
  EXPECT_EQ(PlanFor(golden, made.Read()).cables.size(), golden.cables.size());
}

// A saved file of two rails: the switch of the other rail is not missing in this one.
TEST(SharedNames, OfAnotherSubnetAreNotOfThisOne) {
  testing::TestSubnet both;
  for (int rail = 0; rail < 2; ++rail) {
    const std::uint32_t leaf = both.AddSwitch("Quantum Mellanox Technologies");
    both.Connect(leaf, both.AddHost("MT4129 ConnectX7 Mellanox Technologies"));
  }
  const Plan golden = PlanOf("golden", both.Read());
  testing::TestSubnet one;
  const std::uint32_t leaf = one.AddSwitch("Quantum Mellanox Technologies");
  one.Connect(leaf, one.AddHost("MT4129 ConnectX7 Mellanox Technologies"));
  EXPECT_THAT(PlanFor(golden, one.Read()).cables, SizeIs(1));
}

TEST(SharedNames, FindingsOfTwoSwitchesHaveTheirOwnIds) {
  testing::TestSubnet made = Unnamed();
  made.Route();
  for (testing::TestNode& node : made.nodes)  // A port without a cable
    if (node.is_switch) node.routes[made.nodes.back().lid] = 60;
  std::set<std::string> ids;
  std::set<std::string> titles;
  const Evaluation evaluation = Evaluate(made.Read(), nullptr, {});
  std::size_t failures = 0;
  for (const v1::Finding& finding : evaluation.findings) {
    if (finding.verdict() != v1::VERDICT_FAIL) continue;
    ++failures;
    ids.insert(finding.id());
    titles.insert(finding.title());
  }
  EXPECT_GE(failures, 4U);
  EXPECT_EQ(ids.size(), failures);
  EXPECT_EQ(titles.size(), failures);
}

TEST(SharedNames, AMasterWhoseNameBecomesUniqueDoesNotChange) {
  testing::TestSubnet made = Unnamed();
  const auto read = [&] {
    Builder builder;
    EXPECT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
    const std::uint32_t node = builder.NodeOf(NodeType::kUnknown, made.nodes[0].guid);
    builder.PortOf({node, 0})->guid = 0x10;
    builder.AddManager({.port_guid = 0x10, .state = ManagerState::kMaster});
    builder.SetReading({.reader = "mlx5_0 port 1"});
    return builder.Finish();
  };
  const Subnet before = read();
  for (std::size_t i = 1; i < 6; ++i) made.nodes[i].name = Format("sw-{}", i);
  EXPECT_EQ(ChangesBetween(before, read()).total(), 0);
}

TEST(SharedNames, SlurmListsHostsWithANameOnly) {
  EXPECT_EQ(SlurmTopology(Unnamed().Read()),
            "# Without 12 adapters: the description does not name one host.\n");
  testing::TestSubnet made = testing::Make(testing::FatTree{.leaves = 2, .spines = 1, .hosts = 2});
  made.nodes[0].name = made.nodes[1].name = "Quantum Mellanox Technologies";
  made.nodes[made.Find("gpu-2 mlx5_0")].name = "localhost mlx5_0";
  made.nodes[made.Find("gpu-3 mlx5_0")].name = "localhost mlx5_0";
  EXPECT_EQ(SlurmTopology(made.Read()),
            "# Without 2 adapters: the description does not name one host.\n"
            "SwitchName=Quantum_Mellanox_Technologies_0000000010000000 Nodes=gpu-1\n"
            "SwitchName=Quantum_Mellanox_Technologies_0000000010000010 Nodes=gpu-4\n"
            "SwitchName=top1 Switches=Quantum_Mellanox_Technologies_0000000010000000,"
            "Quantum_Mellanox_Technologies_0000000010000010\n");
}

TEST(NodeNameMap, NamesNodesByGuid) {
  const testing::TestSubnet made = Unnamed();
  const std::string map =
      "# names of opensm\n0x0000000010000000  \"leaf-1\"\n0x10000010 \"leaf \"2\"\"\n"
      "0x10000020 leaf-3\n0x99 \"not in this subnet\"\n";
  for (const bool first : {true, false}) {
    Builder builder;
    if (first) {
      ASSERT_TRUE(AddFile("map", map, builder).ok());
    }
    ASSERT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
    if (!first) {
      ASSERT_TRUE(AddFile("map", map, builder).ok());
    }
    const Subnet subnet = builder.Finish();
    EXPECT_EQ(NameOf(subnet.node(subnet.FindGuid(0x10000000))), "leaf-1");
    EXPECT_EQ(NameOf(subnet.node(subnet.FindGuid(0x10000010))), "leaf \"2\"");
    EXPECT_THAT(
        testing::ProblemTexts(subnet.problems()),
        ::testing::ElementsAre("map:4: expected a name such as 0x0008f10400411f56 \"leaf-3\", saw "
                               "'0x10000020 leaf-3'"));
    EXPECT_EQ(subnet.FindGuid(0x99), kNoNode);
  }
}

// Changes the name of a switch in the plan only.
Plan WithName(const Subnet& subnet, const std::string& name, const std::string& other) {
  Plan plan = ByName(subnet);
  for (PlannedCable& cable : plan.cables)
    for (PlannedEnd* const end : {&cable.from, &cable.to})
      if (end->node == name) end->node = other;
  return plan;
}

TEST(PlannedNames, CompareWithoutSpelling) {
  const Subnet subnet = testing::Make(testing::FatTree{}).Read();
  for (const char* const spelled : {"LEAF-1", "leaf_1", "MF0;Leaf_1:MQM9700/U1"}) {
    const PlanComparison found = Compare(WithName(subnet, "leaf-1", spelled), subnet);
    ExpectEqual(found, subnet.Cables().size());
    EXPECT_THAT(found.renamed, IsEmpty()) << spelled;
  }
}

TEST(PlannedNames, TwoNodesThatDifferInSpellingOnlyAreTwo) {
  testing::TestSubnet made = testing::Make(testing::FatTree{});
  made.nodes[made.Find("leaf-2")].name = "leaf_1";
  const Subnet both = made.Read();
  ExpectEqual(Compare(ByName(both), both), both.Cables().size());
  // One of them is gone: its cables are missing, and not those of the other.
  testing::TestSubnet less = made;
  const std::uint32_t gone = less.Find("leaf_1");
  std::erase_if(less.cables, [&](const testing::TestCable& each) {
    return each.from == gone || each.to == gone;
  });
  const PlanComparison found = Compare(ByName(both), less.Read());
  EXPECT_THAT(found.miswired, IsEmpty());
  EXPECT_EQ(found.matching, less.cables.size());
}

TEST(PlannedNames, ASwitchWithAnotherNameIsOneDifference) {
  const Subnet subnet = testing::Make(testing::FatTree{}).Read();
  const PlanComparison found = Compare(WithName(subnet, "leaf-1", "row7-sw3"), subnet);
  ExpectEqual(found, subnet.Cables().size());
  ASSERT_THAT(found.renamed, SizeIs(1));
  EXPECT_EQ(found.renamed[0].planned, "row7-sw3");
  EXPECT_EQ(NameOf(subnet.node(found.renamed[0].node)), "leaf-1");
}

TEST(PlannedNames, SwappedSwitchesAreNotRenamed) {
  const Subnet subnet = testing::Make(testing::FatTree{}).Read();
  Plan plan = WithName(subnet, "leaf-1", "x");
  for (PlannedCable& cable : plan.cables)
    for (PlannedEnd* const end : {&cable.from, &cable.to})
      end->node = end->node == "leaf-2" ? "leaf-1" : end->node == "x" ? "leaf-2" : end->node;
  const PlanComparison found = Compare(plan, subnet);
  EXPECT_THAT(found.renamed, IsEmpty());
  EXPECT_FALSE(found.miswired.empty());
}

}  // namespace
}  // namespace fabric::subnet
