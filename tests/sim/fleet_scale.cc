// Scenarios about what a fleet of that size takes, and whom it names.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/text.h"
#include "proto/coverage.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;
using Real = std::chrono::steady_clock;

constexpr std::uint32_t kNamedWithin = 20;  // Rounds
constexpr std::uint32_t kWaitedFor = 24;    // Likewise, until all is decided

double Since(Real::time_point begun) {
  return std::chrono::duration<double>(Real::now() - begun).count();
}

double InSeconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::size_t HeapBytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

bool Names(const v1::Campaign& campaign, const std::string& suspect) {
  const auto& suspects = campaign.blame().suspects();
  return std::any_of(suspects.begin(), suspects.end(),
                     [&](const auto& named) { return named.name() == suspect; });
}

// After how many rounds the campaign that runs has named it; 0: it ended before.
std::uint32_t NamedAfter(Fleet& fleet, const std::string& id, const std::string& suspect) {
  while (true) {
    const v1::Campaign campaign = fleet.Campaign(id, false);
    if (Names(campaign, suspect)) return std::max(campaign.rounds_done(), 1U);
    if (campaign.has_ended_at()) return 0;
    fleet.Run(20ms);
  }
}

// That nobody else is bad has to be clear in time, whatever the noise.
void EndSoon(Fleet& fleet, const std::string& id) {
  while (true) {
    const v1::Campaign campaign = fleet.Campaign(id, false);
    if (campaign.has_ended_at()) return;
    if (campaign.rounds_done() > kWaitedFor) break;
    fleet.Run(20ms);
  }
  fleet.checks().Violate(
      Format("not decided after {} rounds: whether anybody else is bad is open", kWaitedFor));
  if (const Status cancelled = fleet.Cancel(id); !cancelled.ok())
    fleet.checks().Violate(cancelled.message());
}

// Runs the campaign to its end and says what it took. `culprit`: and when it was named.
std::optional<v1::Campaign> RunCampaign(Fleet& fleet, const v1::CampaignSpec& spec, Duration most,
                                        Report& report, const std::string& culprit = {}) {
  const auto begun = Real::now();
  const Duration busy = fleet.controller_busy();
  const Duration at = fleet.now();
  const auto started = fleet.StartCampaign(spec);
  if (!started.ok()) {
    fleet.checks().Violate(started.status().message());
    return std::nullopt;
  }
  const double planned = InSeconds(fleet.controller_busy() - busy);
  const std::uint32_t named_after = culprit.empty() ? 0 : NamedAfter(fleet, *started, culprit);
  if (named_after > kNamedWithin)
    fleet.checks().Violate(Format("{} was named after {} rounds", culprit, named_after));
  if (named_after > 0)
    report.figures.push_back(Format("{} is named after {} rounds", culprit, named_after));
  if (named_after > 0) EndSoon(fleet, *started);
  if (!AwaitCampaign(fleet, *started, most)) return std::nullopt;
  v1::Campaign campaign = fleet.Campaign(*started, false);
  const double took = InSeconds(fleet.now() - at);
  const double worked = InSeconds(fleet.controller_busy() - busy);
  const std::uint32_t probes =
      campaign.probes_ok() + campaign.probes_failed() + campaign.probes_cancelled();
  report.figures.push_back(Format(
      "{}: {} rounds of {}, {} saved, {} ok, {} failed of {} probes in {:.2f} simulated s; the "
      "start took {:.3f} s",
      campaign.id(), campaign.rounds_done(), campaign.rounds(), campaign.rounds_saved(),
      campaign.probes_ok(), campaign.probes_failed(), campaign.probes_planned(), took, planned));
  report.figures.push_back(
      Format("the controller worked {:.2f} s of that, {:.1f} % of the campaign's time, {:.0f} us a "
             "probe; simulated in {:.1f} s",
             worked, 100 * worked / took, 1e6 * worked / std::max(probes, 1U), Since(begun)));
  return campaign;
}

v1::CampaignSpec Pings() {
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_ud_ping()->set_pings(1000);
  spec.add_probes()->mutable_rc_write_bandwidth()->set_bidirectional(true);
  spec.set_pairs_at_once(100'000);
  return spec;
}

struct Culprit {
  Fault fault;
  std::string name;
};

Culprit AnyCulprit(Fleet& fleet, Random& random) {
  const Port port{static_cast<std::uint32_t>(random.Below(fleet.size())),
                  static_cast<std::uint32_t>(random.Below(fleet.options().shape.rails))};
  const std::string node = Fleet::NodeName(port.node);
  const std::string name = Format("{}/mlx5_{}/1", node, port.rail);
  const bool one_rail = fleet.options().shape.rails == 1;
  switch (random.Below(one_rail ? 3 : 4)) {
    case 0: return {{.port = port, .loss = 1}, name};
    case 1: return {{.port = port, .loss = random.LogBetween(3e-3, 0.3)}, name};
    case 2: return {{.port = port, .speed = 0.5}, name};
    default: return {{.where = Where::kHost, .port = port, .loss = 1}, node};
  }
}

}  // namespace

void PlayCulprit(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0xc01b);
  const Culprit culprit = AnyCulprit(fleet, random);
  fleet.fabric().Add(culprit.fault);
  fleet.checks().Excuse(Fleet::NodeName(culprit.fault.port.node));
  fleet.BootAll(2s);
  if (!AwaitFleet(fleet, 60s)) return;
  v1::CampaignSpec spec = Pings();
  spec.set_until_decided(true);
  spec.set_seed(fleet.options().seed);
  const auto campaign = RunCampaign(fleet, spec, 600s, report, culprit.name);
  if (!campaign) return;
  CheckCampaign(fleet, campaign->id());
  std::string named;
  for (const v1::Suspect& suspect : campaign->blame().suspects())
    named += Format("{} {} {:.4f}, ", v1::SuspectKind_Name(suspect.kind()), suspect.name(),
                    suspect.confidence());
  report.figures.push_back(Format("bad is {} (loss {:.4f}, speed {:.2f}); named: {}", culprit.name,
                                  culprit.fault.loss, culprit.fault.speed, named));
  if (!Names(*campaign, culprit.name))
    fleet.checks().Violate(Format("{} is bad and was not named, but: {}", culprit.name, named));
  fleet.Run(10s);
  CheckNothingLeft(fleet);
}

void PlayPathCut(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0x9a7cu);
  const Fault cut = {
      .where = Where::kUplink,
      .leaf = static_cast<std::uint32_t>(random.Below(fleet.fabric().leaves())),
      .spine = static_cast<std::uint32_t>(random.Below(fleet.options().shape.spines)),
      .loss = 1};
  const std::string leaf = fleet.fabric().LeafName(cut.leaf);
  fleet.fabric().Add(cut);
  fleet.checks().Excuse(leaf);
  fleet.BootAll(2s);
  if (!AwaitFleet(fleet, 60s)) return;
  v1::CampaignSpec spec = Pings();
  spec.set_until_decided(true);
  spec.set_seed(fleet.options().seed);
  const auto campaign = RunCampaign(fleet, spec, 600s, report);
  if (!campaign) return;
  CheckCampaign(fleet, campaign->id());
  const auto& suspects = campaign->blame().suspects();
  if (suspects.size() != 1 || suspects[0].kind() != v1::SUSPECT_KIND_UPLINK)
    fleet.checks().Violate(Format("a path of {} is cut and not what was named: {}", leaf,
                                  campaign->blame().ShortDebugString()));
  if (!campaign->skipped().empty())
    fleet.checks().Violate("left out, with only one path cut: " + ToString(campaign->skipped(0)));
  if (campaign->rounds_done() > kWaitedFor)
    fleet.checks().Violate(Format("not decided after {} rounds", kWaitedFor));
  fleet.Run(10s);
  CheckNothingLeft(fleet);
}

void PlayAllPairs(const FleetScenario&, Fleet& fleet, Report& report) {
  fleet.BootAll(5s);
  if (!AwaitFleet(fleet, 60s)) return;
  v1::CampaignSpec spec;
  spec.add_probes()->mutable_rc_write_latency();
  spec.set_pairs_at_once(100'000);
  const auto campaign = RunCampaign(fleet, spec, 100'000s, report);
  if (!campaign) return;
  const std::uint32_t nodes = fleet.size();
  const std::uint32_t rounds = nodes - 1 + nodes % 2;
  if (campaign->rounds() != rounds || campaign->rounds_done() != rounds)
    fleet.checks().Violate(Format("{} rounds of {}, expected {}", campaign->rounds_done(),
                                  campaign->rounds(), rounds));
  const std::uint64_t pairs = std::uint64_t{nodes} * (nodes - 1) / 2 * fleet.options().shape.rails;
  if (campaign->probes_ok() + campaign->probes_failed() != pairs)
    fleet.checks().Violate(Format("{} ok and {} failed of {} pairs", campaign->probes_ok(),
                                  campaign->probes_failed(), pairs));
  CheckCampaign(fleet, campaign->id());
  fleet.Run(10s);
  CheckNothingLeft(fleet);
}

void PlayTenThousand(const FleetScenario&, Fleet& fleet, Report& report) {
  const auto begun = Real::now();
  const std::size_t empty = HeapBytes();
  fleet.BootAll(10s);
  if (!AwaitFleet(fleet, 120s)) return;
  report.figures.push_back(Format(
      "{} agents connected, reported and were judged after {:.1f} simulated s, {:.1f} s of the "
      "controller, {:.1f} s in all; {:.1f} kB of heap each, agent and controller together",
      fleet.size(), InSeconds(fleet.now()), InSeconds(fleet.controller_busy()), Since(begun),
      static_cast<double>(HeapBytes() - empty) / 1e3 / fleet.size()));
  Duration busy = fleet.controller_busy();
  fleet.Run(30s);
  report.figures.push_back(Format("at rest the controller works {:.1f} % of the time",
                                  100 * InSeconds(fleet.controller_busy() - busy) / 30));
  v1::CampaignSpec spec = Pings();
  spec.set_pattern(v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
  const auto campaign = RunCampaign(fleet, spec, 3600s, report);
  if (!campaign) return;
  CheckCampaign(fleet, campaign->id());
  fleet.Run(10s);
  CheckNothingLeft(fleet);
}

}  // namespace fabric::sim
