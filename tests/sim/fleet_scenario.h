// Scenarios of the simulated fleet: disturbances and invariants. A run is its
// scenario, its seed and its size; docs/design/simulator.md has the list of invariants.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "tests/sim/fleet.h"

namespace fabric::sim {

struct Report {
  std::vector<std::string> violations;  // Empty: all held.
  std::vector<std::string> figures;     // For people
  std::uint64_t trace = 0;              // The same for the same run
};

struct FleetRun {
  std::uint64_t seed = 1;
  std::uint32_t nodes = 0;  // 0: the scenario's own
  std::uint32_t rails = 0;
  bool show = false;
};

struct FleetScenario {
  std::string_view name;
  std::string_view doc;
  Shape shape;
  // Plays all of it on a fleet whose agents are not up yet.
  void (*play)(const FleetScenario& scenario, Fleet& fleet, Report& report);
  // Of those that play troubles: does them from now until then.
  void (*trouble)(Fleet& fleet, Random& random, Duration until) = nullptr;
  bool counters = false;
  std::uint32_t pairs_at_once = 64;
  bool large = false;  // Takes minutes: not among those that are run by default.
  bool mesh = false;
};

std::span<const FleetScenario> FleetScenarios();

Report Play(const FleetScenario& scenario, const FleetRun& run);

// How scenarios are played: fleet_{troubles,scale,cabling,mesh,certify,incast}.cc.
void PlayTroubles(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayCulprit(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayPathCut(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayCabling(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayMesh(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayIncast(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayCertificates(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayThousandCertified(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayAllPairs(const FleetScenario& scenario, Fleet& fleet, Report& report);
void PlayTenThousand(const FleetScenario& scenario, Fleet& fleet, Report& report);

// Parts that they share: fleet_ends.cc.

// False, and a violation, when not all nodes are connected and judged after a while.
bool AwaitFleet(Fleet& fleet, Duration most);
// False, and a violation, when it does not end in that time.
bool AwaitCampaign(Fleet& fleet, const std::string& campaign, Duration most);
// Each started probe has one result, and blame names no undisturbed part.
void CheckCampaign(Fleet& fleet, const std::string& campaign);
// No probe end holds resources.
void CheckNothingLeft(Fleet& fleet);
// The controller's state equals that of a new controller with the same fleet.
void CheckAgainstScratch(Fleet& fleet);

}  // namespace fabric::sim
