// pfc_equal_on_rail and pfc_covers_roce_dscp
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/rules/engine/engine.h"
#include "daemon/rules/facts.h"
#include "proto/names.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Nodes;

TEST(PfcEqualOnRail, NamesBothMasksAndTheMajority) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::SetPfc(nodes[2], 1, 0x18);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "PFC enabled priorities 3,4, expected 3 (2 of 3 nodes on rail 1)");
  EXPECT_EQ(finding.evidence(0).source(), "netlink dcb rail1");
  ASSERT_EQ(finding.remedies_size(), 2);
  EXPECT_EQ(finding.remedies(0).command(), "dcb pfc set dev rail1 prio-pfc all:off 3:on");
  EXPECT_EQ(finding.remedies(1).platform(), "mlx5");
  EXPECT_EQ(finding.remedies(1).command(), "mlnx_qos -i rail1 --pfc 0,0,0,1,0,0,0,0");
  EXPECT_TRUE(finding.remedies(1).interrupts_traffic());
}

TEST(PfcEqualOnRail, DoesNotChangeWhenALinkOfAnotherNodeGoesDown) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::SetPfc(nodes[2], 1, 0x18);
  const v1::Finding before = TheFailure(nodes);
  testing::LinkDown(nodes[0], 1);
  std::vector<v1::Finding> after;
  for (const v1::Finding& finding : Judge(nodes).findings)
    if (finding.rule() == "pfc_equal_on_rail") after.push_back(finding);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].id(), before.id());
  EXPECT_EQ(after[0].title(), before.title());
}

TEST(PfcEqualOnRail, ReportsTheRailWithoutAMajority) {
  auto nodes = Nodes(2, testing::LabNode);
  testing::SetPfc(nodes[1], 0, 0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.subject().scope(), v1::SCOPE_RAIL);
  EXPECT_EQ(finding.title(), "values of PFC enabled priorities differ: none on n2; 3 on n1");
}

void HidePfc(v1::NodeSnapshot& node, std::uint32_t rail) {
  testing::NetdevOf(node, rail).mutable_dcb()->clear_pfc();
}

TEST(PfcEqualOnRail, NamesNoNodeWhereAnUnreadOneCouldChangeTheMajority) {
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetPfc(nodes[2], 1, 0x18);
  HidePfc(nodes[3], 1);
  const v1::Finding tied = TheFailure(nodes);
  EXPECT_EQ(tied.subject().scope(), v1::SCOPE_RAIL);
  EXPECT_EQ(tied.title(), "values of PFC enabled priorities differ: 3 on n1, n2; 3,4 on n3");
  EXPECT_THAT(tied.evidence(0).basis(), HasSubstr("2 of 4 nodes on rail 1, no majority"));

  nodes = Nodes(5, testing::LabNode);
  testing::SetPfc(nodes[2], 1, 0x18);
  HidePfc(nodes[4], 1);
  EXPECT_EQ(TheFailure(nodes).title(),
            "PFC enabled priorities 3,4, expected 3 (3 of 5 nodes on rail 1)")
      << "the fifth node cannot change that";
}

TEST(PfcEqualOnRail, JudgesAgainWhenAValueCanBeReadAgain) {
  const auto subject = [](Engine& engine) {
    std::string text;
    for (const v1::Finding& finding : engine.All().findings)
      if (finding.rule() == "pfc_equal_on_rail" && finding.verdict() == v1::VERDICT_FAIL)
        text += SubjectName(finding.subject()) + " ";
    return text;
  };
  auto nodes = Nodes(4, testing::LabNode);
  testing::SetPfc(nodes[2], 1, 0x18);
  fleet::Fleet fleet;
  Engine engine;
  const auto put = [&](const v1::NodeSnapshot& node) { engine.Put(fleet.Put(node, {})); };
  for (const v1::NodeSnapshot& node : nodes) put(node);
  EXPECT_EQ(subject(engine), "n3/rxe1/1 ");
  v1::NodeSnapshot hidden = nodes[3];
  HidePfc(hidden, 1);
  put(hidden);
  EXPECT_EQ(subject(engine), "rail 1 ");
  put(nodes[3]);
  EXPECT_EQ(subject(engine), "n3/rxe1/1 ");
  put(hidden);
  engine.Remove("n1");
  engine.Remove("n2");
  engine.Remove("n3");
  EXPECT_EQ(subject(engine), "");
  engine.Remove("n4");
  EXPECT_EQ(subject(engine), "");
}

TEST(PfcEqualOnRail, ComparesEveryPortWithAProfile) {
  auto nodes = Nodes(2, testing::LabNode, {.rails = 1});
  v1::Expectations expect;
  expect.mutable_pfc_priorities()->add_priorities(3);
  EXPECT_THAT(Failures(nodes, Expecting(expect)), IsEmpty());
  for (auto& node : nodes) testing::SetPfc(node, 0, 0x10);
  const Evaluation evaluation = Judge(nodes, Expecting(expect));
  EXPECT_EQ(evaluation.counts.fail(), 2U) << "the profile has precedence over the majority";
  EXPECT_EQ(evaluation.findings[0].title(), "PFC enabled priorities 4, expected 3 (profile test)");
}

TEST(PfcEqualOnRail, HasTheCommandsOfOtherVendors) {
  auto nodes = Nodes(3, testing::BnxtNode);
  testing::SetPfc(nodes[0], 0, 0);
  EXPECT_EQ(TheFailure(nodes).remedies(0).platform(), "bnxt");
  for (auto& node : nodes) testing::NetdevOf(node, 0).set_driver("ice");
  EXPECT_THAT(TheFailure(nodes).remedies(0).command(), HasSubstr("fw-lldp-agent off"));
}

TEST(PfcEqualOnRail, NamesTheMemberOfABond) {
  auto nodes = Nodes(3, testing::RoceNode);
  for (auto& node : nodes) testing::PutOnBond(node, 1);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::SetPfc(nodes[2], 1, 0x18);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "PFC enabled priorities 3,4, expected 3 (2 of 3 nodes on rail 1)");
  EXPECT_EQ(finding.evidence(0).source(), "netlink dcb rail1a");
  EXPECT_EQ(finding.remedies(0).command(), "dcb pfc set dev rail1a prio-pfc all:off 3:on");
}

TEST(PfcEqualOnRail, IsUnknownWithoutDcbAndSaysWhy) {
  auto nodes = Nodes(2, testing::RxeNode, {.rails = 1});
  EXPECT_THAT(Unknowns(nodes),
              ElementsAre("pfc_equal_on_rail n1/rxe0/1", "pfc_equal_on_rail n2/rxe0/1"));
  EXPECT_EQ(Judge(nodes).findings[0].evidence(0).seen(), "not readable: the driver has no DCB");
}

TEST(PfcCoversRoceDscp, NamesWhereTheDscpGoes) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::MapDscp(nodes[1], 0, 26, 0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.title(), "DSCP 26 maps to priority 0, expected a priority with PFC (3)");
  EXPECT_EQ(finding.evidence(0).basis(), "2 of 3 nodes on rail 0 map it to one with PFC");
  EXPECT_EQ(finding.remedies(0).command(), "dcb app replace dev rail0 dscp-prio 26:3");
}

TEST(PfcCoversRoceDscp, NamesTheMemberOfABond) {
  auto nodes = Nodes(3, testing::RoceNode);
  for (auto& node : nodes) testing::PutOnBond(node, 0);
  testing::MapDscp(nodes[1], 0, 26, 0);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.evidence(0).source(), "netlink dcb rail0a");
  EXPECT_EQ(finding.remedies(0).command(), "dcb app replace dev rail0a dscp-prio 26:3");
}

TEST(PfcCoversRoceDscp, NamesTrustInPcp) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::TrustPcp(nodes[1], 1);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_THAT(finding.title(), HasSubstr("port trusts PCP, expected trust in DSCP"));
  EXPECT_EQ(finding.evidence(0).basis(), "2 of 3 nodes on rail 1");
}

TEST(PfcCoversRoceDscp, BothFaultsOfAPortGiveBothFindings) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::SetPfc(nodes[1], 0, 0);
  testing::MapDscp(nodes[1], 0, 26, 0);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("pfc_covers_roce_dscp n2/rxe0/1", "pfc_equal_on_rail n2/rxe0/1"));
}

TEST(PfcCoversRoceDscp, AllowsAnotherDscpWhenTheRailUsesIt) {
  auto nodes = Nodes(3, testing::LabNode, {.rails = 1});
  for (auto& node : nodes) testing::SetPfc(node, 0, 1U << 5);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  testing::MapDscp(nodes[1], 0, 46, 0);
  EXPECT_EQ(TheFailure(nodes).title(),
            "DSCP 46 maps to priority 0, expected a priority with PFC (5)");
}

TEST(PfcCoversRoceDscp, FailsWhenNoDscpOfTheRailIsCovered) {
  auto nodes = Nodes(2, testing::BnxtNode, {.rails = 1});
  for (auto& node : nodes) testing::SetPfc(node, 0, 1U << 4);
  EXPECT_THAT(Failures(nodes), ElementsAre("pfc_covers_roce_dscp n1/bnxt_re0/1",
                                           "pfc_covers_roce_dscp n2/bnxt_re0/1"));
  EXPECT_EQ(Judge(nodes).findings[0].title(),
            "no DSCP maps to a priority with PFC (4), expected at least one");
}

TEST(PfcCoversRoceDscp, PassesForLossyRoce) {
  auto nodes = Nodes(3, testing::LabNode);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::SetPfc(node, rail, 0);
      testing::TrustPcp(node, rail);
    }
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), IsEmpty());
}

TEST(PfcCoversRoceDscp, PcpWithoutVlanFailsAndWithVlanIsUnknown) {
  auto nodes = Nodes(2, testing::LabNode, {.rails = 1});
  for (auto& node : nodes) testing::TrustPcp(node, 0);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("pfc_covers_roce_dscp n1/rxe0/1", "pfc_covers_roce_dscp n2/rxe0/1"));
  for (auto& node : nodes)
    for (auto& gid : *testing::PortOf(node, 0).mutable_gids())
      if (!gid.link_local()) gid.set_netdev("rail0.100");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes),
              ElementsAre("pfc_covers_roce_dscp n1/rxe0/1", "pfc_covers_roce_dscp n2/rxe0/1"));
}

TEST(PfcCoversRoceDscp, IsUnknownWithoutTrustOrMap) {
  auto nodes = Nodes(3, testing::BnxtNode, {.rails = 1});
  testing::NetdevOf(nodes[0], 0).mutable_dcb()->clear_trust();
  testing::NetdevOf(nodes[1], 0).mutable_dcb()->clear_dscp_to_priority();
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(
      Unknowns(nodes),
      ElementsAre("cnp_apart_from_data n2/bnxt_re0/1", "cnp_dscp_priority n2/bnxt_re0/1",
                  "pfc_covers_roce_dscp n1/bnxt_re0/1", "pfc_covers_roce_dscp n2/bnxt_re0/1"));
}

TEST(PfcCoversRoceDscp, SurvivesAbsurdPriorities) {
  auto nodes = Nodes(3, testing::LabNode);
  testing::MapDscp(nodes[1], 0, 26, 4'000'000'000U);
  EXPECT_EQ(TheFailure(nodes).rule(), "pfc_covers_roce_dscp");
}

}  // namespace
}  // namespace fabric::rules
