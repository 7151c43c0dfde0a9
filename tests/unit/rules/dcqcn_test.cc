// dcqcn_parameters_equal
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "proto/names.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using testing::Nodes;
using ::testing::SizeIs;

v1::CongestionControl& ControlOf(v1::NodeSnapshot& node) {
  return *NetdevOf(node, 0).mutable_congestion_control();
}

std::vector<v1::NodeSnapshot> RoceNodes(std::uint32_t count = 3) {
  auto nodes = Nodes(count, testing::RoceNode, {.rails = 1});
  for (auto& node : nodes) testing::DeviceOf(node, 0).set_model("ConnectX-7");
  return nodes;
}

TEST(DcqcnParametersEqual, EvidenceNamesTheParameter) {
  auto nodes = RoceNodes();
  ControlOf(nodes[1]).mutable_parameters(0)->set_value(10);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "dcqcn_parameters_equal");
  ASSERT_EQ(finding.evidence_size(), 2);
  EXPECT_EQ(finding.evidence(1).what(), "rpg_ai_rate");
  EXPECT_EQ(finding.evidence(1).expected(), "5 Mbit/s");
  EXPECT_EQ(finding.evidence(1).seen(), "10 Mbit/s");
  EXPECT_EQ(finding.evidence(1).basis(), "as n1/mlx5_0/1");
  testing::DeviceOf(nodes[1], 0).set_model("ConnectX-6 Dx");
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "defaults of models differ";
}

// Lists can differ: a driver without one of the files, or a directory that exists on some nodes.
TEST(DcqcnParametersEqual, ComparesTheParametersThatBothPortsHave) {
  for (const std::uint32_t count : {2U, 4U}) {
    auto nodes = RoceNodes(count);
    v1::CongestionControl& partial = ControlOf(nodes[1]);
    ASSERT_GT(partial.parameters_size(), 1);
    partial.mutable_parameters()->DeleteSubrange(0, 1);
    EXPECT_THAT(Failures(nodes), IsEmpty());
    const Evaluation evaluation = Judge(nodes);
    ASSERT_THAT(Unknowns(nodes), SizeIs(1));
    EXPECT_THAT(evaluation.findings[0].rule(), "dcqcn_parameters_equal");
    EXPECT_THAT(evaluation.findings[0].title(), HasSubstr("rpg_ai_rate"));
    partial.mutable_parameters(0)->set_value(77);
    EXPECT_EQ(TheFailure(nodes).rule(), "dcqcn_parameters_equal");
  }
}

// Most ports lack a parameter in which the others differ.
TEST(DcqcnParametersEqual, APartialMajorityHidesNoDifference) {
  auto nodes = RoceNodes(6);
  for (std::size_t i = 0; i < 3; ++i)
    ControlOf(nodes[i]).mutable_parameters()->DeleteSubrange(0, 1);
  EXPECT_THAT(Failures(nodes), IsEmpty());
  ControlOf(nodes[5]).mutable_parameters(0)->set_value(10);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(SubjectName(finding.subject()), "n6/mlx5_0/1");
  ASSERT_EQ(finding.evidence_size(), 2);
  EXPECT_EQ(finding.evidence(0).basis(), "2 of 3 nodes with ConnectX-7 on rail 0 with both values");
  EXPECT_EQ(finding.evidence(1).what(), "rpg_ai_rate");
  EXPECT_EQ(finding.evidence(1).basis(), "as n4/mlx5_0/1");
  EXPECT_THAT(Unknowns(nodes), ElementsAre("dcqcn_parameters_equal n4/mlx5_0/1",
                                           "dcqcn_parameters_equal n5/mlx5_0/1"));
}

TEST(DcqcnParametersEqual, EqualSharesBesideAPartialMajorityHaveNoCulprit) {
  for (const std::size_t partial : {2U, 3U}) {
    auto nodes = RoceNodes(static_cast<std::uint32_t>(partial) + 2);
    for (std::size_t i = 0; i < partial; ++i)
      ControlOf(nodes[i]).mutable_parameters()->DeleteSubrange(0, 1);
    ControlOf(nodes.back()).mutable_parameters(0)->set_value(10);
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.subject().scope(), v1::SCOPE_RAIL);
    EXPECT_EQ(finding.affected_size(), 2);
    EXPECT_EQ(finding.evidence(finding.evidence_size() - 1).what(), "rpg_ai_rate");
    EXPECT_THAT(Unknowns(nodes), IsEmpty());
  }
}

// A port that is down counts for the majority, but others are not compared with it.
TEST(DcqcnParametersEqual, ComparesWithAPortThatIsUp) {
  auto nodes = RoceNodes(4);
  testing::LinkDown(nodes[0], 0);
  ControlOf(nodes[3]).mutable_parameters(0)->set_value(10);
  const Evaluation evaluation = Judge(nodes);
  const auto found = std::ranges::find(evaluation.findings, "dcqcn_parameters_equal",
                                       [](const v1::Finding& each) { return each.rule(); });
  ASSERT_NE(found, evaluation.findings.end());
  ASSERT_EQ(found->evidence_size(), 2);
  EXPECT_EQ(found->evidence(1).basis(), "as n2/mlx5_0/1");
}

TEST(DcqcnParametersEqual, IsUnknownWhereNoParameterCouldBeRead) {
  auto nodes = RoceNodes();
  ControlOf(nodes[1]).clear_parameters();
  v1::Gap& gap = *nodes[1].add_gaps();
  gap.set_inspector("congestion_control");
  gap.set_path("sys/class/net/rail0/ecn/roce_rp/rpg_gd");
  gap.set_code(v1::GAP_CODE_UNAVAILABLE);
  gap.set_reason("Input/output error");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  EXPECT_THAT(Unknowns(nodes), ElementsAre("dcqcn_parameters_equal n2/mlx5_0/1"));
}

}  // namespace
}  // namespace fabric::rules
