// Replacement of the profile and the custom rules while the controller runs, and maintenance.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "daemon/custom/node_rules.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Policy WithRule(const std::string& check) {
  const custom::RuleText text = {
      .name = "site.yaml",
      .text =
          "rules:\n  - {id: site.kernel, title: wrong kernel, severity: warning, scope: node,\n"
          "     check: " +
          check + "}\n"};
  const std::vector<custom::RuleFile> files = custom::LoadAll({&text, 1});
  return {.custom_rules = {.rules = custom::NodeRules(files), .infos = custom::Infos(files)}};
}

profile::Profile WithMtu(std::uint32_t bytes) {
  v1::Profile profile;
  profile.set_name("site");
  profile.mutable_expect()->set_netdev_mtu_bytes(bytes);
  return *profile::Profile::Make(profile, {});
}

class PolicyTest : public ::testing::Test {
 protected:
  PolicyTest() { world_.ConnectNodes(2); }
  void Use(Policy policy) {
    world_.controller->SetPolicy(std::move(policy), world_.agents.now());
    world_.agents.Advance(1s);
  }
  testing::ControlWorld world_;
};

TEST_F(PolicyTest, ANewRuleJudgesNodesThatDidNotChange) {
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
  Use(WithRule("node.node.kernel_release == 'none'"));
  EXPECT_THAT(world_.OpenFindings(), Contains("site.kernel n1"));
  EXPECT_THAT(world_.OpenFindings(), Contains("site.kernel n2"));
}

TEST_F(PolicyTest, FindingsOfARuleThatIsGoneResolve) {
  Use(WithRule("node.node.kernel_release == 'none'"));
  Use({});
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST_F(PolicyTest, AFindingThatStaysKeepsItsOpening) {
  Use(WithRule("node.node.kernel_release == 'none'"));
  const auto before = world_.OpenFindings();
  Use(WithRule("node.node.kernel_release == 'none'"));
  EXPECT_EQ(world_.OpenFindings(), before);
}

TEST_F(PolicyTest, ANewProfileJudgesAllPorts) {
  Use({.profile = WithMtu(4200)});  // The nodes have 9000.
  EXPECT_THAT(world_.OpenFindings(), Not(IsEmpty()));
  Use({});
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST_F(PolicyTest, ANodeInMaintenanceIsSkippedUntilItEnds) {
  v1::CreateSilenceRequest request;
  request.mutable_silence()->set_node("n2");
  request.mutable_silence()->set_author("ada");
  request.mutable_silence()->set_reason("OPS-7");
  request.mutable_silence()->set_maintenance(true);
  request.set_duration_seconds(600);
  v1::Silence silence;
  ASSERT_TRUE(world_.controller->Call(request, silence, world_.agents.now()).ok());
  v1::GetNodeRequest get;
  get.set_name("n2");
  v1::GetNodeResponse node;
  ASSERT_TRUE(world_.controller->Call(get, node, world_.agents.now()).ok());
  EXPECT_THAT(node.summary().maintenance(), HasSubstr("OPS-7 (ada)"));
  EXPECT_THAT(world_.Refusal({}).message(), HasSubstr("node is in maintenance until"));
  world_.agents.Advance(603s);  // Silences end within seconds.
  ASSERT_TRUE(world_.controller->Call(get, node, world_.agents.now()).ok());
  EXPECT_EQ(node.summary().maintenance(), "");
  EXPECT_TRUE(world_.Refusal({}).ok());
}

TEST_F(PolicyTest, MaintenanceSurvivesARestart) {
  v1::CreateSilenceRequest request;
  request.mutable_silence()->set_node("n2");
  request.mutable_silence()->set_author("ada");
  request.mutable_silence()->set_reason("OPS-7");
  request.mutable_silence()->set_maintenance(true);
  request.set_duration_seconds(600);
  v1::Silence silence;
  ASSERT_TRUE(world_.controller->Call(request, silence, world_.agents.now()).ok());
  world_.Restart();
  world_.ConnectNodes(2);
  world_.agents.Advance(2s);
  EXPECT_THAT(world_.Refusal({}).message(), HasSubstr("node is in maintenance until"));
}

TEST_F(PolicyTest, MaintenanceIsOfOneNode) {
  v1::CreateSilenceRequest request;
  request.mutable_silence()->set_rule("port_active");
  request.mutable_silence()->set_author("ada");
  request.mutable_silence()->set_reason("OPS-7");
  request.mutable_silence()->set_maintenance(true);
  request.set_duration_seconds(600);
  v1::Silence silence;
  EXPECT_EQ(world_.controller->Call(request, silence, world_.agents.now()),
            Status(Code::kInvalidArgument,
                   "silence.maintenance: expected a node without rule and finding"));
}

}  // namespace
}  // namespace fabric::control
