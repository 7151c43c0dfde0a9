// subnet_routing_as_expected: what the tables of each routing engine have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "subnet/checks/check.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of the findings with this verdict.
std::vector<std::string> Titles(const Subnet& subnet, const RoutingEngine* engine,
                                v1::Verdict verdict) {
  std::vector<std::string> titles;
  for (const v1::Finding& finding : Evaluate(subnet, nullptr, {.routing = engine}).findings)
    if (finding.rule() == "subnet_routing_as_expected" && finding.verdict() == verdict)
      titles.push_back(finding.title());
  return titles;
}

testing::TestSubnet WithRoutes(testing::TestSubnet made) {
  made.Route();
  return made;
}

RoutingEngine Engine(const char* name) {
  const auto engine = ParseRoutingEngine(name);
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  return **engine;
}

TEST(SubnetRoutingAsExpected, ShortestPathsOfATreeFitEachEngine) {
  const Subnet subnet = WithRoutes(testing::Make(testing::Pods{})).Read();
  for (const char* const name : {"minhop", "updn", "ftree", "dfsssp", "sssp", "lash"}) {
    const RoutingEngine engine = Engine(name);
    EXPECT_THAT(Titles(subnet, &engine, v1::VERDICT_FAIL), IsEmpty()) << name;
  }
  EXPECT_EQ(ParseRoutingEngine("up-down").status().message(),
            "expected one of minhop, updn, ftree, dfsssp, sssp, lash, saw 'up-down'");
}

// Leaf 1 sends a LID of leaf 3 by spine 1 and leaf 2: down and up again, with more switches.
TEST(SubnetRoutingAsExpected, NamesWhatTheEngineNeverMakes) {
  testing::TestSubnet made = WithRoutes(testing::Make(testing::FatTree{}));
  const std::uint32_t lid = made.nodes[made.Find("gpu-17 mlx5_0")].lid;
  const auto port_to = [&](const char* from, const char* to) {
    for (const testing::TestCable& cable : made.cables) {
      if (cable.from == made.Find(from) && cable.to == made.Find(to))
        return static_cast<std::uint8_t>(cable.from_port);
      if (cable.to == made.Find(from) && cable.from == made.Find(to))
        return static_cast<std::uint8_t>(cable.to_port);
    }
    ADD_FAILURE() << from << " " << to;
    return std::uint8_t{0};
  };
  made.nodes[made.Find("leaf-1")].routes[lid] = port_to("leaf-1", "spine-1");
  made.nodes[made.Find("spine-1")].routes[lid] = port_to("spine-1", "leaf-2");
  made.nodes[made.Find("leaf-2")].routes[lid] = port_to("leaf-2", "spine-2");
  const Subnet subnet = made.Read();
  const RoutingEngine updn = Engine("updn");
  EXPECT_THAT(Titles(subnet, &updn, v1::VERDICT_FAIL),
              ElementsAre(AllOf(HasSubstr("routing engine updn expected: paths go "
                                          "down and up again by switch \"leaf-2\" port "),
                                HasSubstr("which updn never makes"))));
  const RoutingEngine minhop = Engine("minhop");
  EXPECT_THAT(Titles(subnet, &minhop, v1::VERDICT_FAIL),
              ElementsAre(HasSubstr("routing engine minhop expected: ")));
  EXPECT_THAT(Titles(subnet, nullptr, v1::VERDICT_UNKNOWN),
              ElementsAre(HasSubstr("give one with --routing")));
}

}  // namespace
}  // namespace fabric::subnet
