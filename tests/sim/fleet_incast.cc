// Bursts of many to one: what the controller says of them is what the simulated switch did.
#include <algorithm>
#include <chrono>
#include <set>

#include "base/text.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kDscp26 = 26 << 2;  // Priority 3 of these nodes
constexpr Duration kEndsIn = 60s;

struct Setting {
  const char* name;
  void (*set)(Fleet& fleet, std::uint32_t hub, BurstSettings& settings);
  v1::IncastVerdict provokes;  // With all counters
};

// Every second sender ignores what it is asked.
void DeafSenders(Fleet& fleet, std::uint32_t hub, BurstSettings& settings) {
  for (std::uint32_t node = 0; node < fleet.size(); ++node)
    if (node != hub && node % 2 == 0) settings.deaf_to_pfc.insert(node);
}

constexpr Setting kSettings[] = {
    {"the class is lossless", [](Fleet&, std::uint32_t, BurstSettings&) {},
     v1::INCAST_VERDICT_LOSSLESS},
    {"the switch does no PFC",
     [](Fleet&, std::uint32_t, BurstSettings& settings) { settings.at.pfc = false; },
     v1::INCAST_VERDICT_LOSS_WITHOUT_PFC},
    {"some senders do no PFC", DeafSenders, v1::INCAST_VERDICT_LOSS_DESPITE_PFC},
    {"the switch pauses all",
     [](Fleet&, std::uint32_t, BurstSettings& settings) {
       settings.at.pfc = false;
       settings.at.global_pause = true;
     },
     v1::INCAST_VERDICT_GLOBAL_PAUSE},
    {"the senders are slow",
     [](Fleet& fleet, std::uint32_t, BurstSettings& settings) {
       settings.sender_bps = settings.at.bps / (1.2 * fleet.size());
     },
     v1::INCAST_VERDICT_NO_CONGESTION},
    {"marks slow the senders",
     [](Fleet&, std::uint32_t, BurstSettings& settings) {
       settings.slows_down = true;
       settings.at.mark_from = 1e5;
       settings.at.pause_from = 6e7;
       settings.at.buffer_bytes = 1e8;
     },
     v1::INCAST_VERDICT_ECN_ONLY},
    {"nobody counts",
     [](Fleet&, std::uint32_t, BurstSettings& settings) { settings.counted = false; },
     v1::INCAST_VERDICT_LOSSLESS},
};

v1::IncastVerdict VerdictOf(const BurstTruth& truth) {
  if (truth.pause_frames > 0) return v1::INCAST_VERDICT_GLOBAL_PAUSE;
  if (truth.lost > 0)
    return truth.pfc_frames > 0 ? v1::INCAST_VERDICT_LOSS_DESPITE_PFC
                                : v1::INCAST_VERDICT_LOSS_WITHOUT_PFC;
  if (truth.pfc_frames > 0) return v1::INCAST_VERDICT_LOSSLESS;
  return truth.marked > 0 ? v1::INCAST_VERDICT_ECN_ONLY : v1::INCAST_VERDICT_NO_CONGESTION;
}

std::string Words(const v1::IncastReport& report) {
  return Join({report.evidence().begin(), report.evidence().end()}, "; ");
}

v1::CampaignSpec Burst(std::uint32_t hub, Random& random) {
  v1::CampaignSpec spec;
  spec.set_pattern(v1::CAMPAIGN_PATTERN_INCAST);
  spec.set_hub(Fleet::NodeName(hub));
  spec.set_include_busy(true);
  spec.add_probes()->mutable_incast()->set_duration_ms(
      static_cast<std::uint32_t>(20 + random.Below(30)));
  spec.mutable_probes(0)->set_traffic_class(kDscp26);
  return spec;
}

// The verdict of each rail is what its switch did, or that it cannot be told where it may not.
void CheckReport(Fleet& fleet, const v1::IncastReport& report, std::uint32_t hub, bool known,
                 const char* what) {
  const BurstTruth truth = fleet.bursts().TruthOf({hub, report.receiver().rail()});
  const v1::IncastVerdict right = VerdictOf(truth);
  const bool unknown = report.verdict() == v1::INCAST_VERDICT_UNKNOWN;
  if (known ? report.verdict() != right : !unknown && report.verdict() != right)
    fleet.checks().Violate(
        Format("{}: {}, but the switch: {} ({} lost, {} PFC, {} pauses, {} "
               "marked); {}",
               what, v1::IncastVerdict_Name(report.verdict()), v1::IncastVerdict_Name(right),
               truth.lost, truth.pfc_frames, truth.pause_frames, truth.marked, Words(report)));
  // They begin within a millisecond of each other, and each counts its own time.
  if (known && report.receiver_bps() > 1.05 * fleet.bursts().settings.at.bps)
    fleet.checks().Violate(Format("{}: more arrived than goes through a port", what));
}

v1::Campaign Done(Fleet& fleet, std::uint32_t hub, Random& random, Duration crash_after = {},
                  std::uint32_t victim = 0) {
  const auto started = fleet.StartCampaign(Burst(hub, random));
  if (!started.ok()) {
    fleet.checks().Violate(started.status().message());
    return {};
  }
  if (crash_after > Duration::zero())
    fleet.queue().After(crash_after, [&agent = fleet.agent(victim)] { agent.Crash(false); });
  if (!AwaitCampaign(fleet, *started, kEndsIn)) return {};
  CheckCampaign(fleet, *started);
  return fleet.Campaign(*started, false);
}

void PlaySetting(const Setting& setting, Fleet& fleet, Random& random, Report& report) {
  const auto hub = static_cast<std::uint32_t>(random.Below(fleet.size()));
  BurstSettings& settings = fleet.bursts().settings;
  settings = {};
  setting.set(fleet, hub, settings);
  const v1::Campaign campaign = Done(fleet, hub, random);
  const auto rails = static_cast<int>(fleet.options().shape.rails);
  if (campaign.incasts_size() != rails)
    fleet.checks().Violate(Format("{}: {} reports", setting.name, campaign.incasts_size()));
  for (const v1::IncastReport& each : campaign.incasts()) {
    const BurstTruth truth = fleet.bursts().TruthOf({hub, each.receiver().rail()});
    if (truth.senders != fleet.size() - 1 || each.senders() != truth.senders)
      fleet.checks().Violate(
          Format("{}: {} senders, {} told", setting.name, truth.senders, each.senders()));
    if (VerdictOf(truth) != setting.provokes)
      fleet.checks().Violate(Format("{}: the switch did something else", setting.name));
    CheckReport(fleet, each, hub, settings.counted, setting.name);
    if (!settings.counted && each.verdict() != v1::INCAST_VERDICT_UNKNOWN)
      fleet.checks().Violate(
          Format("{}: {}", setting.name, v1::IncastVerdict_Name(each.verdict())));
    if (each.receiver().rail() == 0)
      report.figures.push_back(Format("{}: {}, {:.0f} Gb/s; {}", setting.name,
                                      v1::IncastVerdict_Name(each.verdict()),
                                      each.receiver_bps() / 1e9, Words(each)));
  }
}

// A sender or the receiver crashes at any time: nothing wrong is said, and nothing is left.
void PlayCrash(Fleet& fleet, Random& random) {
  const auto hub = static_cast<std::uint32_t>(random.Below(fleet.size()));
  auto victim = static_cast<std::uint32_t>(random.Below(fleet.size()));
  if (random.Chance(0.3)) victim = hub;
  fleet.checks().Excuse(Fleet::NodeName(victim));
  fleet.bursts().settings = {};
  if (random.Chance(0.5)) fleet.bursts().settings.at.pfc = false;
  const Duration after = std::chrono::milliseconds(1 + random.Below(4000));
  const v1::Campaign campaign = Done(fleet, hub, random, after, victim);
  for (const v1::IncastReport& each : campaign.incasts())
    CheckReport(fleet, each, hub, false, "with a crash");
  fleet.Run(5s);
  if (!fleet.agent(victim).up()) fleet.agent(victim).Boot();
  (void)AwaitFleet(fleet, 120s);
}

}  // namespace

void PlayIncast(const FleetScenario&, Fleet& fleet, Report& report) {
  Random random(fleet.options().seed ^ 0x14ca57);
  fleet.BootAll(2s);
  if (!AwaitFleet(fleet, 60s)) return;
  for (const Setting& setting : kSettings) PlaySetting(setting, fleet, random, report);
  constexpr int kCrashes = 4;
  for (int crash = 0; crash < kCrashes; ++crash) PlayCrash(fleet, random);
  fleet.Run(15s);
  CheckNothingLeft(fleet);
  CheckAgainstScratch(fleet);
}

}  // namespace fabric::sim
