// Random faults of the cabling: each is named with its switch and port, and nothing else is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/plan.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<v1::Finding> FailuresOf(const Subnet& subnet, const Plan* plan, std::string_view rule) {
  std::vector<v1::Finding> failures;
  for (v1::Finding& finding : Evaluate(subnet, plan, {}).findings)
    if (finding.verdict() == v1::VERDICT_FAIL && finding.rule() == rule)
      failures.push_back(std::move(finding));
  return failures;
}

testing::TestSubnet TreeOfFive() {
  return testing::Make(testing::FatTree{.leaves = 5, .spines = 3, .hosts = 4});
}

// Two cables of one or two switches are exchanged at their `to` end.
TEST(RandomChange, OfTwoCablesIsNamedByThePlan) {
  const testing::TestSubnet healthy = TreeOfFive();
  const Plan golden = PlanOf("golden", healthy.Read());
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    testing::TestSubnet made = healthy;
    testing::TestCable& one = made.cables[random() % made.cables.size()];
    testing::TestCable& other = made.cables[random() % made.cables.size()];
    if (&one == &other) continue;
    std::swap(one.to, other.to);
    std::swap(one.to_port, other.to_port);
    const auto found = FailuresOf(made.Read(), &golden, "subnet_cables_as_planned");
    ASSERT_THAT(found, SizeIs(2)) << "seed " << seed;
    for (const testing::TestCable* const cable : {&one, &other}) {
      const std::string end =
          Format("\"{}\" port {}", made.nodes[cable->from].name, cable->from_port);
      const auto names = [&](const v1::Finding& finding) {
        return finding.title().starts_with("miswired: ") &&
               finding.title().find(end) != std::string::npos;
      };
      EXPECT_GE(std::ranges::count_if(found, names), 1) << "seed " << seed << ": " << end;
    }
    EXPECT_NE(found[0].id(), found[1].id());
  }
}

// A host with the GUID of another one: its port has two cables.
TEST(RandomChange, OfAGuidIsNamedOnce) {
  const testing::TestSubnet healthy = TreeOfFive();
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    testing::TestSubnet made = healthy;
    std::vector<testing::TestNode*> hosts;
    for (testing::TestNode& node : made.nodes)
      if (!node.is_switch) hosts.push_back(&node);
    const testing::TestNode& right = *hosts[random() % hosts.size()];
    testing::TestNode& wrong = *hosts[random() % hosts.size()];
    if (&right == &wrong) continue;
    wrong.guid = right.guid;
    const auto found = FailuresOf(made.Read(), nullptr, "subnet_guid_unique");
    ASSERT_THAT(found, SizeIs(1)) << "seed " << seed;
    EXPECT_THAT(found[0].title(), HasSubstr(Format("GUID 0x{:016x}", right.guid)));
    for (const testing::TestNode* const host :
         {&right, static_cast<const testing::TestNode*>(&wrong)}) {
      const auto index = static_cast<std::uint32_t>(host - made.nodes.data());
      const auto cable = std::ranges::find(made.cables, index, &testing::TestCable::to);
      EXPECT_THAT(found[0].title(),
                  HasSubstr(Format("switch \"{}\" port {}", made.nodes[cable->from].name,
                                   cable->from_port)))
          << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace fabric::subnet
