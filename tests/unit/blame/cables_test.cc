// Names of bad cables and switches by exact paths, in a simulated subnet.
#include "daemon/blame/cables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/text.h"
#include "daemon/blame/analyzer.h"
#include "daemon/blame/cable_pairs.h"
#include "tests/unit/blame/cable_world.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::blame {
namespace {

using subnet::testing::FatTree;
using subnet::testing::Pods;
using subnet::testing::TestSubnet;
using ::testing::IsEmpty;

std::vector<std::string> NamesOf(const CableWorld& world) {
  std::vector<std::string> names;
  for (const CableFault& fault : FindCableFaults(world.fabric(), world.observations()))
    names.push_back(fault.whole_switch ? "switch " + world.fabric().routes.NameOf(fault.place)
                                       : "cable " + world.fabric().routes.CableName(fault.place));
  return names;
}

// Rounds until something is named; 0: nothing.
std::uint32_t RunRounds(CableWorld& world, std::uint64_t seed, std::uint32_t rounds_max) {
  std::mt19937_64 random(seed);
  for (std::uint32_t round = 1; round <= rounds_max; ++round) {
    world.Probe(PairsForCables(world.fabric(), world.observations(), {}, random()), round, random);
    if (!NamesOf(world).empty()) return round;
  }
  return 0;
}

TEST(CableFaults, AHealthySubnetHasNone) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  EXPECT_EQ(RunRounds(world, 1, 20), 0U);
}

TEST(CableFaults, WithoutTablesNothingIsNamed) {
  TestSubnet made = Make(FatTree{});
  Fabric fabric;
  EXPECT_THAT(FindCableFaults(fabric, {}), IsEmpty());
}

TEST(CableFaults, ADeadSpineIsASwitchAndADeadHostIsNone) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  world.BreakSwitch("spine-3");
  EXPECT_GT(RunRounds(world, 2, 10), 0U);
  EXPECT_THAT(NamesOf(world), ::testing::ElementsAre("switch spine-3"));
  Analyzer analyzer(world.fabric());
  analyzer.Add(world.observations());
  const v1::BlameReport report = analyzer.Judge();
  ASSERT_EQ(report.suspects_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.suspects(0).kind(), v1::SUSPECT_KIND_SWITCH);

  CableWorld host(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  std::mt19937_64 random(3);
  for (std::uint32_t round = 1; round <= 10; ++round) {
    host.Probe(PairsForCables(host.fabric(), host.observations(), {}, random()), round, random);
  }
  std::vector<Observation> seen = host.observations();
  for (Observation& each : seen)
    if (each.from == 5 || each.to == 5) each.failures = each.attempts;
  EXPECT_THAT(FindCableFaults(host.fabric(), seen), IsEmpty());
}

TEST(CableFaults, TheReportNamesTheCableInsteadOfTheUplinks) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  world.Break(17, 0.5, true);
  ASSERT_GT(RunRounds(world, 4, 10), 0U);
  Analyzer analyzer(world.fabric());
  analyzer.Add(world.observations());
  const v1::BlameReport report = analyzer.Judge();
  ASSERT_EQ(report.suspects_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.suspects(0).kind(), v1::SUSPECT_KIND_LINK);
  EXPECT_EQ(report.suspects(0).name(), world.BadName());
  EXPECT_THAT(report.suspects(0).leaf(), ::testing::StartsWith("leaf-")) << "not the spine";
  EXPECT_EQ(report.state(), v1::BLAME_STATE_DECIDED);
}

}  // namespace
}  // namespace fabric::blame
