// Plans whose end is missing: no cable is unplanned or missing because of that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/plan.h"
#include "subnet/words.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

testing::TestSubnet PlannedTree() {
  return testing::Make(testing::FatTree{.leaves = 3, .spines = 3, .hosts = 4});
}

// The cables of a device follow each other.
std::string NdtOf(const testing::TestSubnet& made) {
  std::string text = "StartDevice,StartPort,EndDevice,EndPort,LinkType\n";
  for (const testing::TestCable& cable : made.cables)
    text += Format("{},Port {},{},Port {},Data\n", made.nodes[cable.from].name, cable.from_port,
                   made.nodes[cable.to].name, cable.to_port);
  return text;
}

std::string TopoOf(const testing::TestSubnet& made) {
  std::string text;
  std::uint32_t here = kNoNode;
  for (const testing::TestCable& cable : made.cables) {
    if (here != cable.from) text += Format("MQM9700 {}\n", made.nodes[here = cable.from].name);
    text +=
        Format("   P{} -4x-50G-> {} {}{}P{}\n", cable.from_port,
               made.nodes[cable.to].is_switch ? "MQM9700" : "HCA_mlx5_0", made.nodes[cable.to].name,
               made.nodes[cable.to].is_switch ? " " : "/", cable.to_port);
  }
  return text;
}

// What differs, in words, and the number of cables that can be at the missing end of the plan.
struct Compared {
  std::vector<std::string> differences;
  std::size_t after_end = 0;
};

Compared CompareWith(const testing::TestSubnet& made, const std::string& plan_text) {
  Compared compared;
  const auto plan = ReadPlan("plan", plan_text);
  if (!plan.ok()) return compared;
  const Subnet subnet = made.Read();
  const PlanComparison found = Compare(*plan, subnet);
  compared.after_end = found.after_end.size();
  for (const Miswired& each : found.miswired)
    compared.differences.push_back("miswired: " + ToString(each.planned.from));
  for (const MissingCable& each : found.missing)
    compared.differences.push_back("missing: " + ToString(each.planned.from));
  if (plan->problems.count() == 0)
    for (const Cable& each : found.unplanned)
      compared.differences.push_back("unplanned: " + CableWords(subnet, each));
  return compared;
}

TEST(CutPlans, MakeNoCableUnplannedOrMissing) {
  const testing::TestSubnet made = PlannedTree();
  for (const std::string& text :
       {NdtOf(made), TopoOf(made), made.Ibnetdiscover(), made.SubnetList()}) {
    EXPECT_THAT(CompareWith(made, text).differences, IsEmpty());
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
      for (const std::size_t more : {0U, 9U, 20U, 23U}) {
        const std::string cut = text.substr(0, at + 1 + more);
        EXPECT_THAT(CompareWith(made, cut).differences, IsEmpty())
            << cut.substr(cut.rfind('\n', cut.size() - 2) + 1);
      }
  }
  const std::string ndt = NdtOf(made);
  const auto plan = ReadPlan("plan", ndt.substr(0, ndt.find("leaf-3")));
  ASSERT_TRUE(plan.ok());
  std::vector<std::string> titles;
  for (const v1::Finding& finding : Evaluate(made.Read(), &*plan, {}).findings)
    if (finding.rule() == "subnet_cables_as_planned") titles.push_back(finding.title());
  EXPECT_THAT(titles, Contains(HasSubstr("so that a part of it can be missing")));
}

TEST(CutPlans, ACableOfAFinishedDeviceIsUnplanned) {
  testing::TestSubnet made = PlannedTree();
  const std::string ndt = NdtOf(made);
  made.Connect(made.Find("leaf-1"), made.Find("spine-1"));
  EXPECT_THAT(CompareWith(made, ndt).differences, Contains(StartsWith("unplanned: ")));
}

TEST(CutPlans, APortBeforeTheLastOneOfADeviceIsUnplanned) {
  const testing::TestSubnet made = PlannedTree();
  std::string ndt = NdtOf(made);
  const std::size_t row = ndt.find("leaf-3,Port 2,");
  ndt.erase(row, ndt.find('\n', row) + 1 - row);
  EXPECT_THAT(CompareWith(made, ndt).differences, ElementsAre(StartsWith("unplanned: ")));
}

// A few cables of a new device are not the end of a plan.
TEST(CutPlans, ANewDeviceIsUnplanned) {
  testing::TestSubnet made = PlannedTree();
  const std::string ndt = NdtOf(made);
  const std::uint32_t leaf = made.AddSwitch("leaf-99");
  made.Connect(leaf, made.Find("spine-1"));
  made.Connect(leaf, made.Find("spine-2"));
  EXPECT_THAT(CompareWith(made, ndt).differences, Contains(StartsWith("unplanned: ")));
}

}  // namespace
}  // namespace fabric::subnet
