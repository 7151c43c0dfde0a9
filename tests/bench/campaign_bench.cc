// What the controller adds to a campaign. Run by hand: see docs/BENCHMARKS.md.
//
// The simulation of campaign_world.h. What a campaign takes beyond its probes and their messages is
// its overhead.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>

#include "tests/bench/campaign_world.h"

namespace fabric::control {
namespace {

v1::ProbeResult Healthy(const v1::ProbeAssignment&) {
  v1::ProbeResult result;
  result.set_status(v1::PROBE_STATUS_OK);
  result.mutable_latency()->set_median_us(2.5);
  result.mutable_latency()->set_samples(1000);
  return result;
}

v1::Campaign AllPairs(CampaignWorld& world) {
  v1::StartCampaignRequest start;
  start.mutable_spec()->add_probes()->mutable_rc_write_latency();
  v1::Campaign campaign;
  bool failed = false;
  world.Serve([&] { failed = !world.controller().Call(start, campaign, world.Now()).ok(); });
  v1::GetCampaignRequest get;
  get.set_id(campaign.id());
  std::uint64_t steps = 0;
  while (!failed && !campaign.has_ended_at()) {
    world.Step();
    if (world.idle() || ++steps % 1024 == 0)
      (void)world.controller().Call(get, campaign, world.Now());
  }
  return campaign;
}

// All pairs of nodes with one rail: nodes, pairs at once, milliseconds that a probe takes.
void Campaign(benchmark::State& state) {
  const auto nodes = static_cast<std::uint32_t>(state.range(0));
  const auto at_once = static_cast<std::uint32_t>(state.range(1));
  const Duration probe_takes = std::chrono::milliseconds(state.range(2));
  CampaignWorld world(nodes, 1, {.pairs_at_once_max = at_once}, probe_takes, Healthy);
  v1::Campaign campaign;
  for (auto _ : state) campaign = AllPairs(world);
  // What it would take if the controller took no time: six messages, a set-up and the probe, for as
  // many times as the pairs of a round do not run at once.
  const double probe = std::chrono::duration<double>(6 * CampaignWorld::kMessageTakes +
                                                     CampaignWorld::kSetUpTakes + probe_takes)
                           .count();
  const double waves = std::ceil(nodes / 2.0 / at_once);
  const double ideal = static_cast<double>(campaign.rounds()) * waves * probe;
  state.counters["rounds"] = campaign.rounds_done();
  state.counters["simulated_s"] = world.seconds();
  state.counters["overhead_%"] = 100 * (world.seconds() / ideal - 1);
  state.counters["controller_us_per_probe"] =
      std::chrono::duration<double, std::micro>(world.busy()).count() / campaign.probes_ok();
}

BENCHMARK(Campaign)
    ->Args({64, 32, 50})
    ->Args({256, 64, 50})
    ->Args({1024, 64, 50})
    ->Args({1024, 64, 200})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::control
