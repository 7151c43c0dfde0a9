// Cables that are plugged in the wrong way round: rules say so, and no part is blamed for it.
#include <algorithm>
#include <chrono>
#include <set>

#include "base/text.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRule = "rail_on_expected_leaf";
// An inspection, and a finding that has to be gone for a while.
constexpr Duration kMendedIn = 60s;

// The two ports of each swap are of one node, or of two nodes under different leaves of a rail.
void SwapSome(Fleet& fleet, Random& random) {
  const Shape& shape = fleet.options().shape;
  const auto node = static_cast<std::uint32_t>(random.Below(shape.nodes));
  const auto rail = static_cast<std::uint32_t>(random.Below(shape.rails));
  fleet.fabric().Swap({node, rail}, {node, (rail + 1) % shape.rails});
  const std::uint32_t leaves = shape.nodes / shape.ports_per_leaf;
  const std::uint32_t one = (node + 1) % shape.nodes;
  const auto leaf = (one / shape.ports_per_leaf + 1 + random.Below(leaves - 1)) % leaves;
  const auto other =
      static_cast<std::uint32_t>(leaf * shape.ports_per_leaf + random.Below(shape.ports_per_leaf));
  if (other != node) fleet.fabric().Swap({one, rail}, {other, rail});
}

std::set<std::string> SwappedNodes(Fleet& fleet) {
  std::set<std::string> nodes;
  for (const auto& [a, b] : fleet.fabric().swaps())
    nodes.insert({Fleet::NodeName(a.node), Fleet::NodeName(b.node)});
  return nodes;
}

void CheckFound(Fleet& fleet, const std::set<std::string>& swapped) {
  std::set<std::string> found;
  for (const v1::Finding& finding : fleet.Findings())
    if (finding.rule() == kRule) found.insert(finding.subject().node());
  for (const std::string& node : swapped)
    if (!found.contains(node))
      fleet.checks().Violate(Format("{}: a cable is swapped, and {} does not say so", node, kRule));
}

}  // namespace

void PlayCabling(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0xcab1e5);
  SwapSome(fleet, random);
  const std::set<std::string> swapped = SwappedNodes(fleet);
  for (const std::string& node : swapped) fleet.checks().Excuse(node);
  fleet.BootAll(2s);
  if (!AwaitFleet(fleet, 60s)) return;
  CheckFound(fleet, swapped);
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_ud_ping()->set_pings(1000);
  spec.add_probes()->mutable_rc_write_bandwidth()->set_bidirectional(true);
  spec.set_until_decided(true);
  spec.set_seed(fleet.options().seed);
  const auto started = fleet.StartCampaign(spec);
  if (!started.ok()) return fleet.checks().Violate(started.status().message());
  if (!AwaitCampaign(fleet, *started, 600s)) return;
  CheckCampaign(fleet, *started);
  const v1::Campaign campaign = fleet.Campaign(*started, false);
  for (const v1::Suspect& suspect : campaign.blame().suspects())
    fleet.checks().Violate("blamed for a swapped cable: " + suspect.name());
  report.figures.push_back(
      Format("{} nodes with swapped cables are found; blame is {} after {} "
             "rounds, {} saved",
             swapped.size(), v1::BlameState_Name(campaign.blame().state()), campaign.rounds_done(),
             campaign.rounds_saved()));
  fleet.HealFabric();
  fleet.Run(kMendedIn);
  for (const v1::Finding& finding : fleet.Findings())
    if (!finding.has_suspect())  // Another campaign resolves these.
      fleet.checks().Violate(
          Format("the cables are where they belong, and {} stays", finding.rule()));
  CheckNothingLeft(fleet);
}

}  // namespace fabric::sim
