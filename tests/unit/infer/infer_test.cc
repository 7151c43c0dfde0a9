// Profiles of what most have.
#include "daemon/infer/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "daemon/profile/profile_yaml.h"
#include "daemon/rules/rule.h"
#include "proto/names.h"
#include "tests/testing/captured.h"
#include "tests/testing/nodes.h"

namespace fabric::infer {
namespace {

using testing::Captured;
using ::testing::HasSubstr;
using testing::Nodes;
using ::testing::Not;

std::vector<fleet::NodeRecord> Records(const std::vector<v1::NodeSnapshot>& nodes) {
  std::vector<fleet::NodeRecord> records;
  for (const v1::NodeSnapshot& node : nodes)
    records.push_back({.name = node.node().name(), .snapshot = node});
  return records;
}

v1::InferProfileResponse Infer(const std::vector<v1::NodeSnapshot>& nodes) {
  const auto records = Records(nodes);
  return InferProfile(fleet::FleetView(records));
}

// As `fabricctl profile check` reads it.
profile::Profile Parsed(const std::string& yaml) {
  auto loaded =
      profile::LoadProfile("inferred.yaml", [&](const std::string&) { return Result(yaml); });
  EXPECT_EQ(loaded.status(), Status()) << yaml;
  return loaded.ok() ? *std::move(loaded) : profile::Profile();
}

std::set<std::string> Failures(const std::vector<v1::NodeSnapshot>& nodes,
                               const profile::Profile& profile) {
  const auto records = Records(nodes);
  std::set<std::string> failures;
  for (const v1::Finding& finding : rules::Evaluate(fleet::FleetView(records, profile)).findings)
    if (finding.verdict() == v1::VERDICT_FAIL)
      failures.insert(
          Format("{} {}: {}", finding.rule(), SubjectName(finding.subject()), finding.title()));
  return failures;
}

v1::Expectations Expected(const profile::Profile& profile, std::uint32_t rail) {
  return profile.Expect(profile.Match({.node = "n1", .model = "ConnectX-7", .rail = Rail(rail)}));
}

const v1::InferredValue* Find(const v1::InferProfileResponse& response, std::string_view field) {
  for (const v1::InferredValue& value : response.values())
    if (value.field() == field) return &value;
  return nullptr;
}

TEST(InferProfile, WhatAllHaveIsExpected) {
  const auto response = Infer(Nodes(3, testing::RoceNode));
  const v1::Expectations expect = Expected(Parsed(response.yaml()), 0);
  EXPECT_EQ(expect.protocol(), v1::PROTOCOL_ROCE);
  EXPECT_EQ(expect.netdev_mtu_bytes(), 9000U);
  EXPECT_EQ(expect.rdma_mtu_bytes(), 4096U);
  EXPECT_TRUE(expect.lossless());
  ASSERT_EQ(expect.pfc_priorities().priorities_size(), 1);
  EXPECT_EQ(expect.pfc_priorities().priorities(0), 3U);
  EXPECT_EQ(expect.trust(), v1::TRUST_DSCP);
  EXPECT_EQ(expect.data_priority(), 3U);
  EXPECT_EQ(expect.fabric_ports(), 2U);
  EXPECT_EQ(expect.gpus(), 1U);
  EXPECT_THAT(response.yaml(), Not(HasSubstr("have it; not so")));
}

TEST(InferProfile, WhoDiffersIsNamed) {
  auto nodes = Nodes(4, testing::RoceNode);
  testing::SetMtu(nodes[2], 1, 1500);
  const auto response = Infer(nodes);
  EXPECT_EQ(Expected(Parsed(response.yaml()), 1).netdev_mtu_bytes(), 9000U);
  EXPECT_THAT(response.yaml(), HasSubstr("  # 7 of 8 ports; these differ:\n"
                                         "  #   n3 rail1: 1500\n"
                                         "  netdev_mtu_bytes: 9000\n"));
  const v1::InferredValue* const value = Find(response, "netdev_mtu_bytes");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->value(), "9000");
  EXPECT_EQ(value->count(), 7U);
  EXPECT_EQ(value->total(), 8U);
  ASSERT_EQ(value->differing_size(), 1);
  EXPECT_EQ(value->differing(0).node(), "n3");
  EXPECT_EQ(value->differing(0).port(), "rail1");
  EXPECT_EQ(value->differing(0).value(), "1500");
}

TEST(InferProfile, RailsThatDifferGetAnOverride) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 4});
  for (v1::NodeSnapshot& node : nodes) testing::SetMtu(node, 3, 4200);
  const auto response = Infer(nodes);
  const profile::Profile profile = Parsed(response.yaml());
  EXPECT_EQ(Expected(profile, 0).netdev_mtu_bytes(), 9000U);
  EXPECT_EQ(Expected(profile, 3).netdev_mtu_bytes(), 4200U);
  EXPECT_THAT(response.yaml(), HasSubstr("      rails: [3]\n"));
  EXPECT_EQ(Failures(nodes, profile), Failures(nodes, {}));
}

TEST(InferProfile, WhatSomeRailsLackIsNotExpectedOfThem) {
  auto nodes = Nodes(3, testing::RoceNode, {.rails = 3});
  for (v1::NodeSnapshot& node : nodes) {
    for (std::uint32_t rail = 0; rail < 3; ++rail)
      testing::PortOf(node, rail).mutable_roce_defaults()->clear_traffic_class();
    testing::PortOf(node, 2).mutable_roce_defaults()->set_traffic_class(106);
  }
  const auto response = Infer(nodes);
  const profile::Profile profile = Parsed(response.yaml());
  EXPECT_FALSE(Expected(profile, 0).has_traffic_class());
  EXPECT_EQ(Expected(profile, 2).traffic_class(), 106U);
  EXPECT_THAT(response.yaml(), HasSubstr("traffic_class: where most have not set"));
  EXPECT_EQ(Failures(nodes, profile), Failures(nodes, {}));
}

TEST(InferProfile, WithoutAMajorityNothingIsExpected) {
  auto nodes = Nodes(2, testing::RoceNode);
  testing::SetMtu(nodes[0], 0, 4200);
  testing::SetMtu(nodes[0], 1, 4200);
  const auto response = Infer(nodes);
  EXPECT_FALSE(Expected(Parsed(response.yaml()), 0).has_netdev_mtu_bytes());
  EXPECT_THAT(response.yaml(), HasSubstr("#   netdev_mtu_bytes: no majority: 4200 on n1 rail0"));
  const v1::InferredValue* const value = Find(response, "netdev_mtu_bytes");
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->value(), "");
}

TEST(InferProfile, NodesOfAnotherProductAreNamedByPattern) {
  auto nodes = Nodes(4, testing::RoceNode);
  for (int i = 0; i < 4; ++i) {
    nodes[static_cast<std::size_t>(i)].mutable_host()->set_product(i < 3 ? "A" : "B");
    if (i == 3) nodes[3].mutable_node()->set_kernel_release("6.8.0-other");
  }
  const auto response = Infer(nodes);
  const profile::Profile profile = Parsed(response.yaml());
  EXPECT_EQ(profile.Expect(profile.Match({.node = "n4"})).kernel_release(), "6.8.0-other");
  EXPECT_NE(profile.Expect(profile.Match({.node = "n1"})).kernel_release(), "6.8.0-other");
  EXPECT_THAT(response.yaml(), HasSubstr("      nodes: [\"n4\"]\n"));
}

TEST(InferProfile, WhatNoProfileCanSayIsLeftOut) {
  const auto nothing = Infer({});
  EXPECT_THAT(nothing.yaml(), HasSubstr("Not inferable, set by hand: unused"));
  EXPECT_TRUE(nothing.values().empty());
  Parsed(nothing.yaml());
}

TEST(InferProfile, NamesOfOtherMachinesCannotEndAComment) {
  auto nodes = Nodes(3, testing::RoceNode);
  nodes[1].mutable_node()->set_name("n2\nname: other");
  testing::SetMtu(nodes[1], 0, 1500);
  const auto response = Infer(nodes);
  EXPECT_THAT(response.yaml(), HasSubstr("#   n2?name: other rail0: 1500"));
  EXPECT_EQ(Parsed(response.yaml()).name(), "inferred");
}

// The profile of a healthy fleet finds nothing in it that was not found without.
TEST(InferProfile, HealthyFleetsAreHealthyByTheirOwnProfile) {
  using Make = v1::NodeSnapshot (*)(const testing::NodeOptions&);
  for (const Make make : {testing::RoceNode, testing::LabNode, testing::RxeNode, testing::BnxtNode,
                          testing::InfinibandNode, testing::IwarpNode}) {
    const auto nodes = Nodes(3, make, {.rails = 4});
    const auto response = Infer(nodes);
    EXPECT_EQ(Failures(nodes, Parsed(response.yaml())), Failures(nodes, {})) << response.yaml();
  }
}

TEST(InferProfile, CapturedMachinesFailNothingNewByTheirOwnProfile) {
  for (const std::string machine :
       {"broken", "e810_irdma", "efa", "h100_infiniband", "ionic_pollara", "mi300x", "nothing",
        "roce_connectx6dx", "rxe_guest", "thor2_bnxt", "vf_bond"}) {
    const std::vector<v1::NodeSnapshot> nodes = {Captured(machine)};
    const auto response = Infer(nodes);
    const auto without = Failures(nodes, {});
    for (const std::string& failure : Failures(nodes, Parsed(response.yaml())))
      EXPECT_TRUE(without.contains(failure)) << machine << ": " << failure << "\n"
                                             << response.yaml();
  }
}

TEST(InferProfile, MixedFleetsToo) {
  auto nodes = Nodes(3, testing::RoceNode);
  for (v1::NodeSnapshot& node : Nodes(3, testing::BnxtNode)) {
    node.mutable_node()->set_name("b" + node.node().name());
    nodes.push_back(node);
  }
  const auto response = Infer(nodes);
  const auto without = Failures(nodes, {});
  for (const std::string& failure : Failures(nodes, Parsed(response.yaml())))
    EXPECT_TRUE(without.contains(failure)) << failure << "\n" << response.yaml();
}

}  // namespace
}  // namespace fabric::infer
