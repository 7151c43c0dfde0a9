// The scenarios of the simulated fleet with a few seeds; bin/sim_fleet plays more of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using ::testing::IsEmpty;

const FleetScenario& Scenario(std::string_view name) {
  for (const FleetScenario& scenario : FleetScenarios())
    if (scenario.name == name) return scenario;
  ADD_FAILURE() << "no scenario " << name;
  return FleetScenarios().front();
}

TEST(FleetScenario, AllHoldsInAllOfThem) {
  for (const FleetScenario& scenario : FleetScenarios()) {
    if (scenario.large) continue;
    SCOPED_TRACE(Format("sim_fleet --scenario {} --show", scenario.name));
    EXPECT_THAT(Play(scenario, {.seed = 1}).violations, IsEmpty());
  }
}

TEST(FleetScenario, ARunIsItsSeed) {
  const FleetScenario& scenario = Scenario("everything");
  const std::uint64_t trace = Play(scenario, {.seed = 3}).trace;
  EXPECT_EQ(Play(scenario, {.seed = 3}).trace, trace);
  EXPECT_NE(Play(scenario, {.seed = 4}).trace, trace);
}

}  // namespace
}  // namespace fabric::sim
