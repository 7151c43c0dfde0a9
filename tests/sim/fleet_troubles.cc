// Troubles while campaigns run, and the calm after them.
#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTroubled = 60s;
constexpr Duration kCampaignEvery = 12s;
// After the last trouble: keepalive, a back-off and a welcome that does not come.
constexpr Duration kBackMax = 80s;
// A campaign whose agents are all there; the slowest probe is bounded by its timeout.
constexpr Duration kTroubleEndsIn = 120s;
// An agent ends what it was told to stop; drivers take up to a second and a half, slow ones more.
constexpr Duration kLetGoIn = 15s;
constexpr std::uint32_t kTimeoutMs = 3000;

v1::CampaignSpec AnySpec(Random& random) {
  v1::CampaignSpec spec;
  spec.set_seed(random.Next() % 1000);
  constexpr v1::CampaignPattern kPatterns[] = {
      v1::CAMPAIGN_PATTERN_ALL_PAIRS,     v1::CAMPAIGN_PATTERN_ALL_PAIRS,
      v1::CAMPAIGN_PATTERN_RING,          v1::CAMPAIGN_PATTERN_CROSS_RAIL,
      v1::CAMPAIGN_PATTERN_WITHIN_NODE,   v1::CAMPAIGN_PATTERN_LOOPBACK,
      v1::CAMPAIGN_PATTERN_RANDOM_REGULAR};
  spec.set_pattern(kPatterns[random.Below(std::size(kPatterns))]);
  spec.set_until_decided(random.Chance(0.3));
  spec.set_include_busy(random.Chance(0.5));
  if (random.Chance(0.3)) spec.set_pairs_at_once(1 + static_cast<std::uint32_t>(random.Below(8)));
  if (random.Chance(0.2))
    spec.set_pairs_per_uplink(1 + static_cast<std::uint32_t>(random.Below(4)));
  const bool ping = random.Chance(0.7);
  if (ping) spec.add_probes()->mutable_ud_ping()->set_pings(1000);
  if (!ping || random.Chance(0.5)) spec.add_probes()->mutable_rc_write_latency();
  if (random.Chance(0.5)) spec.add_probes()->mutable_rc_write_bandwidth()->set_bidirectional(true);
  for (v1::ProbeSpec& probe : *spec.mutable_probes()) probe.set_timeout_ms(kTimeoutMs);
  return spec;
}

// Everything that was done is undone.
void Heal(Fleet& fleet) {
  fleet.trace().Tell(fleet.now(), "all troubles are over");
  fleet.RemoveDoubles();
  fleet.HealFabric();
  for (std::uint32_t number = 0; number < fleet.size(); ++number) {
    SimAgent& agent = fleet.agent(number);
    agent.Slow(1);
    agent.SetClock(0s, 0);
    for (std::uint32_t rail = 0; rail < fleet.options().shape.rails; ++rail)
      fleet.SetLink({number, rail}, true);
    if (!agent.up()) agent.Boot();
  }
}

void StartSome(Fleet& fleet, Random& random, std::vector<std::string>& campaigns) {
  auto started = fleet.StartCampaign(AnySpec(random));
  if (!started.ok()) return;  // With half of the fleet away there may be nothing to probe.
  campaigns.push_back(*started);
}

// It ends at once, whatever its agents do.
void CancelOne(Fleet& fleet, const std::string& campaign) {
  if (!fleet.Cancel(campaign).ok()) return;  // The controller is down.
  if (!fleet.Campaign(campaign, false).has_ended_at())
    fleet.checks().Violate(Format("campaign {} was cancelled and goes on", campaign));
}

}  // namespace

void PlayTroubles(const FleetScenario& scenario, Fleet& fleet, Report&) {
  Random random(fleet.options().seed ^ 0x7207b1e5);
  fleet.BootAll(1s);
  if (!AwaitFleet(fleet, 30s)) return;
  std::vector<std::string> campaigns;
  const Duration until = fleet.now() + kTroubled;
  scenario.trouble(fleet, random, until);
  while (fleet.now() < until) {
    StartSome(fleet, random, campaigns);
    fleet.Run(kCampaignEvery);
    if (!campaigns.empty() && random.Chance(0.2))
      CancelOne(fleet, campaigns[random.Below(campaigns.size())]);
  }
  Heal(fleet);
  while (!fleet.controller_up()) fleet.Run(100ms);
  for (const std::string& campaign : campaigns)
    (void)AwaitCampaign(fleet, campaign, kTroubleEndsIn);
  fleet.Run(kLetGoIn);
  CheckNothingLeft(fleet);
  if (!AwaitFleet(fleet, kBackMax)) return;
  for (const std::string& campaign : campaigns) CheckCampaign(fleet, campaign);

  // The calm after: all is as if nothing had been.
  fleet.Run(2s + control::LifecycleOptions().flap_hold);
  v1::CampaignSpec last;
  last.add_probes()->mutable_rc_write_latency();
  last.set_include_busy(true);
  const auto started = fleet.StartCampaign(last);
  if (!started.ok()) return fleet.checks().Violate(started.status().message());
  (void)AwaitCampaign(fleet, *started, kTroubleEndsIn);
  CheckCampaign(fleet, *started);
  const v1::Campaign campaign = fleet.Campaign(*started, false);
  // The fabric itself loses a probe now and then.
  const std::uint32_t odd = 1 + campaign.probes_planned() / 200;
  if (campaign.probes_failed() > odd)
    fleet.checks().Violate(Format("after all is well again {} of {} probes fail",
                                  campaign.probes_failed(), campaign.probes_planned()));
  fleet.Run(kLetGoIn);
  CheckNothingLeft(fleet);
  CheckAgainstScratch(fleet);
}

}  // namespace fabric::sim
