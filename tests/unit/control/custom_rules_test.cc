// Operators' rules in the controller: their findings live like any others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "daemon/custom/node_rules.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<custom::RuleFile> Files() {
  const custom::RuleText text = {.name = "site.yaml", .text = R"(rules:
  - {id: site.kernel, title: "kernel ${node.node.kernel_release}", severity: warning, scope: node,
     check: node.node.kernel_release != '6.66'}
  - {id: site.bad, title: t, severity: info, scope: node, check: has(node.gpsu)}
)"};
  return custom::LoadAll({&text, 1});
}

class OwnRulesTest : public ::testing::Test {
 protected:
  OwnRulesTest()
      : files_(Files()),
        world_({.custom_rules = {.rules = custom::NodeRules(files_),
                                 .infos = custom::Infos(files_),
                                 .problems = 1}}) {
    world_.ConnectNodes(2);
  }
  void Report(const std::string& kernel) {
    v1::NodeSnapshot node = testing::RoceNode({.number = 2});
    node.mutable_node()->set_kernel_release(kernel);
    EXPECT_TRUE(world_.agents.SendSnapshot(node).ok());
    world_.agents.Advance(300ms);
  }

  const std::vector<custom::RuleFile> files_;
  testing::ControlWorld world_;
};

TEST_F(OwnRulesTest, FindingsOpenAndResolve) {
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
  Report("6.66");
  EXPECT_THAT(world_.OpenFindings(), Contains("site.kernel n2"));
  Report(testing::RoceNode({.number = 2}).node().kernel_release());
  EXPECT_THAT(world_.OpenFindings(), IsEmpty());
}

TEST_F(OwnRulesTest, AreListedAndMayBeAskedFor) {
  v1::ListRulesResponse rules;
  ASSERT_TRUE(world_.controller->Call(v1::ListRulesRequest(), rules, world_.agents.now()).ok());
  std::vector<std::string> own;
  for (const v1::RuleInfo& rule : rules.rules())
    if (rule.family() == "custom") own.push_back(rule.id());
  EXPECT_THAT(own, ElementsAre("site.kernel"));
  v1::ListFindingsRequest request;
  v1::ListFindingsResponse response;
  request.set_rule("site.kernel");
  EXPECT_TRUE(world_.controller->Call(request, response, world_.agents.now()).ok());
  request.set_rule("site.kernle");
  EXPECT_EQ(world_.controller->Call(request, response, world_.agents.now()),
            Status(Code::kNotFound, "unknown rule 'site.kernle'; did you mean 'site.kernel'?"));
  EXPECT_EQ(world_.controller->RuleProblems(), 1U);
}

TEST_F(OwnRulesTest, CountInValidate) {
  Report("6.66");
  v1::ValidateResponse response;
  ASSERT_TRUE(world_.controller->Call(v1::ValidateRequest(), response, world_.agents.now()).ok());
  v1::ListRulesResponse rules;
  ASSERT_TRUE(world_.controller->Call(v1::ListRulesRequest(), rules, world_.agents.now()).ok());
  EXPECT_EQ(response.rules(), static_cast<std::uint32_t>(rules.rules_size()));
}

}  // namespace
}  // namespace fabric::control
