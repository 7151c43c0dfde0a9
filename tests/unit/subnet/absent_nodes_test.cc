// subnet_cables_as_planned: which part a missing cable is about.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "subnet/checks/check.h"
#include "subnet/plan.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using testing::FatTree;
using ::testing::HasSubstr;
using testing::TestSubnet;

std::vector<v1::Finding> PlanFailures(const Subnet& subnet, const Plan& plan) {
  std::vector<v1::Finding> failures;
  for (const v1::Finding& finding : Evaluate(subnet, &plan, {}).findings)
    if (finding.rule() == "subnet_cables_as_planned" && finding.verdict() == v1::VERDICT_FAIL)
      failures.push_back(finding);
  return failures;
}

void Disconnect(TestSubnet& made, const std::string& name) {
  const std::uint32_t node = made.Find(name);
  std::erase_if(made.cables, [&](const testing::TestCable& cable) {
    return cable.from == node || cable.to == node;
  });
}

TEST(MissingCables, OfADeadLeafAreOneFindingAboutIt) {
  TestSubnet made = testing::Make(FatTree{.leaves = 5});
  const Plan plan = PlanOf("golden.txt", made.Read());
  Disconnect(made, "leaf-2");
  const std::vector<v1::Finding> found = PlanFailures(made.Read(), plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].title(), HasSubstr("planned cables of \"leaf-2\""));
  EXPECT_EQ(found[0].subject().scope(), v1::SCOPE_SWITCH);
  EXPECT_EQ(found[0].subject().switch_name(), "leaf-2");
}

TEST(MissingCables, OfTwoDeadSwitchesAreTwoFindings) {
  TestSubnet made = testing::Make(FatTree{.leaves = 5});
  const Plan plan = PlanOf("golden.txt", made.Read());
  Disconnect(made, "leaf-2");
  Disconnect(made, "spine-1");
  const std::vector<v1::Finding> found = PlanFailures(made.Read(), plan);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NE(found[0].id(), found[1].id());
  EXPECT_EQ(found[0].subject().switch_name(), "leaf-2");
  EXPECT_EQ(found[1].subject().switch_name(), "spine-1");
}

TEST(MissingCables, OneIsAboutTheSwitchThatHadIt) {
  TestSubnet made = testing::Make(FatTree{.leaves = 5});
  const Plan plan = PlanOf("golden.txt", made.Read());
  made.cables.erase(made.cables.begin() + 3);
  const std::vector<v1::Finding> found = PlanFailures(made.Read(), plan);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].title(), HasSubstr("planned cable \"leaf-1\" port 4"));
  EXPECT_EQ(found[0].subject().switch_name(), "leaf-1");
  EXPECT_EQ(found[0].subject().switch_port(), "4");
}

}  // namespace
}  // namespace fabric::subnet
