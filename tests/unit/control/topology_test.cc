// InfiniBand topology and verdicts on subnets in the controller.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "daemon/control/controller.h"
#include "subnet/checks/check.h"
#include "subnet/wire/snapshot_outline.h"
#include "subnet/wire/snapshot_parts.h"
#include "tests/testing/control_world.h"
#include "tests/testing/infiniband.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using testing::ControlWorld;
using testing::SubnetOf;

constexpr std::string_view kOneLeaf =
    "# Topology file: generated on Sat Nov 21 09:30:12 2026\n"
    "Switch 65 \"S-00000000000000a0\" # \"MF0;leaf:MQM9700/U1\" base\n"
    "[1] \"H-505400fffe000001\"[1](505400fffe000001) # \"n1\" lid 5 4xNDR\n";

TEST(InfinibandTopology, CoversWhatTheFleetHasNow) {
  ControlWorld world;
  EXPECT_FALSE(world.controller->Infiniband().known);
  v1::NodeSnapshot node = testing::InfinibandNode({.number = 1, .rails = 1, .gpu = false});
  ASSERT_TRUE(world.agents.Connect(node).ok());
  world.controller->SetInfiniband(testing::TopologyOf(kOneLeaf), {}, world.agents.now());
  EXPECT_TRUE(world.controller->Infiniband().known);
  EXPECT_EQ(world.controller->Infiniband().cover.placed, 1U);
  EXPECT_EQ(world.controller->Infiniband().cover.unknown, 0U);

  ASSERT_TRUE(
      world.agents.Connect(testing::InfinibandNode({.number = 2, .rails = 1, .gpu = false})).ok());
  EXPECT_EQ(world.controller->Infiniband().cover.placed, 1U);
  EXPECT_EQ(world.controller->Infiniband().cover.unknown, 1U) << "a node that is not in the file";

  world.agents.Disconnect("n2", "gone");
  EXPECT_EQ(world.controller->Infiniband().cover.unknown, 0U) << "it is lost";

  v1::AgentMessage down;
  v1::RdmaDevice& device = *down.mutable_change()->add_rdma_devices();
  device = node.rdma_devices(0);
  device.mutable_ports(0)->set_state(v1::PORT_STATE_DOWN);
  ASSERT_TRUE(world.agents.Say("n1", down).ok());
  EXPECT_EQ(world.controller->Infiniband().cover.placed, 0U) << "its port is not up any more";
}

v1::ValidateResponse Validated(ControlWorld& world) {
  v1::ValidateResponse response;
  const Status status = world.controller->Call(v1::ValidateRequest(), response, world.agents.now());
  EXPECT_TRUE(status.ok()) << status.message();
  return response;
}

std::map<std::string, v1::FindingState> StatesOf(ControlWorld& world, const std::string& rule) {
  v1::ListFindingsRequest request;
  request.set_include_resolved(true);
  v1::ListFindingsResponse response;
  const Status status = world.controller->Call(request, response, world.agents.now());
  EXPECT_TRUE(status.ok()) << status.message();
  std::map<std::string, v1::FindingState> states;
  for (const v1::Finding& finding : response.findings())
    if (finding.rule() == rule) states[finding.id()] = finding.state();
  return states;
}

// The checks of a subnet open and resolve findings like rules do.
TEST(Subnets, FailedChecksAreFindings) {
  ControlWorld world;
  const std::uint32_t skipped = Validated(world).coverage().rules_not_applicable();
  const std::string twin = std::string(kOneLeaf) +
                           "[2] \"H-505400fffe000009\"[1](505400fffe000009) # \"n9\" lid 5 4xNDR\n";
  subnet::Evaluation bad = subnet::Evaluate(SubnetOf(twin), nullptr, {});
  world.controller->SetInfiniband({}, bad, world.agents.now());
  const v1::ValidateResponse validated = Validated(world);
  EXPECT_EQ(validated.coverage().rules_not_applicable(), skipped - bad.coverage.rules_judged());
  EXPECT_EQ(validated.counts().fail(), bad.counts.fail());
  EXPECT_GE(validated.counts().pass(), bad.counts.pass());
  std::set<std::string> reasons;
  for (const v1::UnreadReason& unread : validated.coverage().unread())
    EXPECT_TRUE(reasons.insert(unread.reason()).second) << unread.reason();
  EXPECT_FALSE(reasons.empty()) << "no forwarding tables";
  const auto open = StatesOf(world, "subnet_lid_unique");
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open.begin()->second, v1::FINDING_STATE_OPEN);

  world.controller->SetInfiniband({}, subnet::Evaluate(SubnetOf(kOneLeaf), nullptr, {}),
                                  world.agents.now());
  EXPECT_EQ(Validated(world).counts().fail(), 0U);
  EXPECT_EQ(StatesOf(world, "subnet_lid_unique").begin()->second, v1::FINDING_STATE_RESOLVED);
}

TEST(Subnets, TheSnapshotOfASubnetFromFilesIsItsOutline) {
  ControlWorld world;
  const subnet::Subnet subnet = SubnetOf(kOneLeaf);
  const auto frame = subnet::Compress(subnet::OutlineOf(subnet).SerializeAsString(), {});
  ASSERT_TRUE(frame.ok());
  v1::SubnetInfo info;
  info.set_name("rail1");
  world.controller->SetInfiniband(testing::TopologyOf(kOneLeaf), {}, world.agents.now(),
                                  {{.info = info, .outline = *frame}});
  v1::GetSubnetSnapshotRequest request;
  request.set_name("rail1");
  v1::SubnetPart part;
  ASSERT_TRUE(world.controller->Call(request, part, world.agents.now()).ok());
  EXPECT_EQ(part.data(), frame->data);
  EXPECT_TRUE(part.last());
  request.set_name("rail2");
  EXPECT_EQ(world.controller->Call(request, part, world.agents.now()).code(), Code::kNotFound);
}

TEST(Subnets, ChecksAreRulesThatASilenceCanName) {
  ControlWorld world;
  v1::ListRulesResponse rules;
  ASSERT_TRUE(world.controller->Call(v1::ListRulesRequest(), rules, world.agents.now()).ok());
  EXPECT_TRUE(std::ranges::any_of(rules.rules(), [](const v1::RuleInfo& info) {
    return info.id() == "subnet_no_credit_loops" && info.family() == "subnet";
  }));
}

}  // namespace
}  // namespace fabric::control
