// The mesh: it names an uplink that is cut, accuses nobody otherwise, and goes on after crashes of
// agents and of the controller.
#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "proto/coverage.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

// Orders, a window or two, the time for which the controller holds them back, and its judgement.
constexpr Duration kSeenIn = 60s;
// Until no window of the time before counts any more.
constexpr Duration kForgottenIn = 120s;
// Without a controller the mesh ends after 30 s by each agent's clock.
constexpr Duration kAlone = 40s;

std::string Suspects(const v1::MeshStatus& mesh) {
  std::string names;
  for (const v1::Suspect& suspect : mesh.blame().suspects())
    names += Format("{}{} {}", names.empty() ? "" : ", ", v1::SuspectKind_Name(suspect.kind()),
                    suspect.name());
  return names;
}

void CheckAllInIt(Fleet& fleet, const char* when) {
  const std::uint32_t ports = fleet.size() * fleet.options().shape.rails;
  const v1::MeshStatus mesh = fleet.Mesh();
  if (mesh.ports() != ports)
    fleet.checks().Violate(Format("{}: {} of {} ports are in the mesh, without {}", when,
                                  mesh.ports(), ports,
                                  mesh.not_covered().empty() ? "" : ToString(mesh.not_covered(0))));
  std::vector<std::uint64_t> before;
  for (const auto& agent : fleet.agents()) before.push_back(agent->mesh().windows());
  fleet.Run(30s);
  for (std::uint32_t number = 0; number < fleet.size(); ++number)
    if (fleet.agent(number).mesh().windows() == before[number])
      fleet.checks().Violate(Format("{}: {} tells no window", when, Fleet::NodeName(number)));
}

void CheckNobodyNamed(Fleet& fleet, const char* when) {
  const v1::MeshStatus mesh = fleet.Mesh();
  if (mesh.blame().suspects_size() > 0)
    fleet.checks().Violate(Format("{}: the mesh names {}", when, Suspects(mesh)));
}

// An uplink of a leaf is cut, for what goes both ways.
void CutAnUplink(Fleet& fleet, Random& random, Report& report) {
  const Shape& shape = fleet.options().shape;
  const auto leaf = static_cast<std::uint32_t>(random.Below(fleet.fabric().leaves()));
  const auto spine = static_cast<std::uint32_t>(random.Below(shape.spines));
  fleet.fabric().Add({.where = Where::kUplink, .leaf = leaf, .spine = spine, .loss = 1});
  const Duration cut_at = fleet.now();
  const std::string name = fleet.fabric().LeafName(leaf);
  fleet.checks().Excuse(name);
  while (fleet.now() < cut_at + kSeenIn && fleet.Mesh().blame().suspects().empty())
    fleet.Run(100ms);
  const v1::MeshStatus mesh = fleet.Mesh();
  const bool right = mesh.blame().suspects_size() == 1 &&
                     mesh.blame().suspects(0).kind() == v1::SUSPECT_KIND_UPLINK &&
                     mesh.blame().suspects(0).leaf() == name;
  if (!right)
    fleet.checks().Violate(
        Format("an uplink of {} is cut, and the mesh names: {}", name, Suspects(mesh)));
  else
    report.figures.push_back(Format("{} is named {:.1f} s after it was cut", Suspects(mesh),
                                    std::chrono::duration<double>(fleet.now() - cut_at).count()));
  fleet.HealFabric();
}

// Agents and the controller crash at any time, some of them twice.
void CrashSome(Fleet& fleet, Random& random) {
  for (int crash = 0; crash < 8; ++crash) {
    fleet.Run(std::chrono::milliseconds(random.Below(8000)));
    SimAgent& agent = fleet.agent(static_cast<std::uint32_t>(random.Below(fleet.size())));
    if (!agent.up()) continue;
    agent.Crash(random.Chance(0.5));
    fleet.queue().After(std::chrono::milliseconds(100 + random.Below(20'000)), [&agent] {
      if (!agent.up()) agent.Boot();
    });
    if (crash == 4) fleet.CrashController(std::chrono::milliseconds(500 + random.Below(5000)));
  }
  fleet.Run(25s);
}

}  // namespace

void PlayMesh(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0x3e54);
  fleet.BootAll(2s);
  if (!AwaitFleet(fleet, 60s)) return;
  fleet.Run(kSeenIn);
  CheckAllInIt(fleet, "at first");
  CheckNobodyNamed(fleet, "at first");
  CutAnUplink(fleet, random, report);
  fleet.Run(kForgottenIn);
  CheckNobodyNamed(fleet, "after it was mended");

  fleet.checks().ExcuseAll();
  CrashSome(fleet, random);
  CheckNobodyNamed(fleet, "while agents crash");
  if (!AwaitFleet(fleet, 80s)) return;
  fleet.Run(kSeenIn);
  CheckAllInIt(fleet, "after crashes");
  CheckNobodyNamed(fleet, "after crashes");

  fleet.CrashController(kAlone + 10s);
  fleet.Run(kAlone);
  for (std::uint32_t number = 0; number < fleet.size(); ++number)
    if (!fleet.agent(number).mesh().idle())
      fleet.checks().Violate(Fleet::NodeName(number) + " meshes on without a controller");
  fleet.Run(10s);
  while (!fleet.controller_up()) fleet.Run(100ms);
  if (!AwaitFleet(fleet, 120s)) return;
  fleet.Run(kSeenIn);
  CheckAllInIt(fleet, "after the controller was away");
  CheckNobodyNamed(fleet, "after the controller was away");
}

}  // namespace fabric::sim
