#include "tests/sim/fleet_scenario.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>

namespace fabric::sim {
namespace {

using namespace std::chrono_literals;

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// Now and then until then, so many seconds apart on average. Borrows both.
void NowAndThen(Fleet& fleet, Random& random, Duration until, double apart_s,
                std::function<void()> act) {
  const Duration next = Seconds(-apart_s * std::log(1 - random.Unit()));
  if (fleet.now() + next >= until) return;
  fleet.queue().After(next, [&fleet, &random, until, apart_s, act = std::move(act)] {
    act();
    NowAndThen(fleet, random, until, apart_s, act);
  });
}

std::uint32_t AnyNode(Fleet& fleet, Random& random) {
  return static_cast<std::uint32_t>(random.Below(fleet.size()));
}

// A quarter of the nodes, the same ones in a run. Nobody does anything to the others.
std::uint32_t AnyVictim(Fleet& fleet, Random& random) {
  const auto quarter = std::max<std::uint32_t>(fleet.size() / 4, 1);
  const auto place = static_cast<std::uint32_t>(random.Below(quarter));
  const std::uint32_t node =
      (place * 4 + static_cast<std::uint32_t>(SplitMix(fleet.options().seed + place) % 4)) %
      fleet.size();
  fleet.checks().Excuse(Fleet::NodeName(node));
  return node;
}

// A node that is not there has to be said to be lost in time.
void ExpectLost(Fleet& fleet, std::uint32_t node) {
  fleet.queue().After(4500ms, [&fleet, node] {
    const bool heard = fleet.now() - fleet.wire().controller_stalled_until() > 4s;
    if (!fleet.controller_up() || !heard || fleet.agent(node).up() || fleet.HasDouble(node)) return;
    for (const v1::NodeSummary& known : fleet.Nodes())
      if (known.name() == Fleet::NodeName(node) && known.state() == v1::NODE_STATE_CONNECTED)
        fleet.checks().Violate(Fleet::NodeName(node) + " is away and said to be connected");
  });
}

void CrashAgents(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 2, [&fleet, &random] {
    const std::uint32_t node = AnyVictim(fleet, random);
    SimAgent& agent = fleet.agent(node);
    if (!agent.up()) return;
    const bool quiet = random.Chance(0.5);
    fleet.trace().Tell(fleet.now(), Format("n{} crashes{}", node + 1, quiet ? " quietly" : ""));
    agent.Crash(quiet);
    const Duration away = Seconds(random.LogBetween(0.1, 20));
    if (away > 6s) ExpectLost(fleet, node);
    fleet.queue().After(away, [&agent] {
      if (!agent.up()) agent.Boot();
    });
  });
}

void CutStreams(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 2, [&fleet, &random] {
    const std::uint32_t node = AnyVictim(fleet, random);
    const auto kind = static_cast<CutKind>(random.Below(4));
    fleet.trace().Tell(fleet.now(),
                       Format("stream of n{} cut, kind {}", node + 1, static_cast<int>(kind)));
    if (fleet.agent(node).up()) fleet.agent(node).Cut(kind);
  });
}

// All nodes: a delayed stream is no reason to say anything about a node's fabric.
void DelayStreams(Fleet& fleet, Random& random, Duration until) {
  fleet.wire().SetDelay(Seconds(random.LogBetween(1e-3, 0.3)));
  NowAndThen(fleet, random, until, 2, [&fleet, &random] {
    const std::uint32_t node = AnyVictim(fleet, random);
    const Duration stall = Seconds(random.LogBetween(0.1, 15));
    fleet.trace().Tell(fleet.now(), Format("stream of n{} stalls {} ms", node + 1, stall / 1ms));
    if (fleet.agent(node).up()) fleet.agent(node).Stall(stall);
  });
  fleet.queue().At(until, [&fleet] { fleet.wire().SetDelay(200us); });
}

void SlowAgents(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 2, [&fleet, &random] {
    const std::uint32_t node = AnyVictim(fleet, random);
    SimAgent& agent = fleet.agent(node);
    if (!agent.up()) return;
    if (random.Chance(0.3)) return agent.Slow(random.LogBetween(2, 200));
    const Duration pause = Seconds(random.LogBetween(0.1, 10));
    fleet.trace().Tell(fleet.now(), Format("n{} stands still {} ms", node + 1, pause / 1ms));
    agent.Freeze(pause);
  });
}

void CrashController(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 15,
             [&fleet, &random] { fleet.CrashController(Seconds(random.LogBetween(0.05, 12))); });
}

void StallController(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 8,
             [&fleet, &random] { fleet.StallController(Seconds(random.LogBetween(0.2, 8))); });
}

// Nobody is excused: what a node's clock says is no reason to accuse it of its fabric.
void DriftClocks(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 1, [&fleet, &random] {
    const std::uint32_t node = AnyNode(fleet, random);
    fleet.agent(node).SetClock(Seconds(random.Between(-7200, 7200)), random.Between(-1e-3, 1e-3));
  });
}

void FlapLinks(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 2, [&fleet, &random] {
    const Port port{AnyVictim(fleet, random),
                    static_cast<std::uint32_t>(random.Below(fleet.options().shape.rails))};
    fleet.trace().Tell(fleet.now(), Format("n{} rail {} goes down", port.node + 1, port.rail));
    fleet.SetLink(port, false);
    fleet.queue().After(Seconds(random.LogBetween(0.05, 10)),
                        [&fleet, port] { fleet.SetLink(port, true); });
  });
}

void LosePackets(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 10, [&fleet, &random] {
    const bool one_way = random.Chance(0.5);
    const bool out = random.Chance(0.5);
    fleet.HealFabric();
    fleet.fabric().Add({.port = {AnyVictim(fleet, random), static_cast<std::uint32_t>(random.Below(
                                                               fleet.options().shape.rails))},
                        .loss = random.LogBetween(1e-3, 1),
                        .speed = random.Between(0.3, 1),
                        .latency = random.LogBetween(1, 20),
                        .out = !one_way || out,
                        .in = !one_way || !out});
  });
}

void DoubleNames(Fleet& fleet, Random& random, Duration until) {
  NowAndThen(fleet, random, until, 8, [&fleet, &random] {
    const std::uint32_t node = AnyVictim(fleet, random);
    const bool same_id = random.Chance(0.5);
    fleet.trace().Tell(fleet.now(),
                       Format("a double of n{}{}", node + 1, same_id ? ", a clone" : ""));
    fleet.AddDouble(node, same_id);
    if (random.Chance(0.5)) fleet.agent(node).Crash(random.Chance(0.5));
  });
}

void Everything(Fleet& fleet, Random& random, Duration until) {
  constexpr void (*kAll[])(Fleet&, Random&, Duration) = {
      CrashAgents,     CutStreams, DelayStreams, SlowAgents, CrashController,
      StallController, FlapLinks,  LosePackets,  DoubleNames};
  for (const auto trouble : kAll)
    if (random.Chance(0.6)) trouble(fleet, random, until);
}

void Nothing(Fleet&, Random&, Duration) {}

constexpr Shape kSmall = {.nodes = 12, .rails = 2, .ports_per_leaf = 4, .spines = 2};

}  // namespace

std::span<const FleetScenario> FleetScenarios() {
  static const FleetScenario scenarios[] = {
      {"calm", "Nothing happens.", kSmall, PlayTroubles, Nothing, true},
      {"agents_crash", "Agents crash, some with their machine, and come back.", kSmall,
       PlayTroubles, CrashAgents, true},
      {"streams_cut", "Connections break, and one end or nobody notices.", kSmall, PlayTroubles,
       CutStreams, true},
      {"streams_delayed", "Messages take their time; streams stall.", kSmall, PlayTroubles,
       DelayStreams, true},
      {"agents_slow", "Agents stand still, or their drivers take long.", kSmall, PlayTroubles,
       SlowAgents, true},
      {"controller_crashes", "The controller crashes and loads what it had stored.", kSmall,
       PlayTroubles, CrashController, true},
      {"controller_stalls", "The controller stands still for seconds.", kSmall, PlayTroubles,
       StallController, true},
      {"clocks_drift", "Clocks of agents jump and gain.", kSmall, PlayTroubles, DriftClocks, true},
      {"links_flap", "Ports lose their link and get it back.", kSmall, PlayTroubles, FlapLinks,
       true},
      {"packets_lost", "Ports lose packets, slow down and delay, one way or both.", kSmall,
       PlayTroubles, LosePackets, true},
      {"double_names", "Machines come with the name of another one.", kSmall, PlayTroubles,
       DoubleNames, true},
      {"everything", "Most of the above at once.", kSmall, PlayTroubles, Everything, true},
      {"culprit",
       "A part is bad: a campaign until it is decided names it and nothing else.",
       {.nodes = 64, .rails = 2, .ports_per_leaf = 16, .spines = 4},
       PlayCulprit},
      {"path_cut",
       "One of four paths of a leaf with three ports is cut: it is named, and nobody is left out.",
       {.nodes = 9, .rails = 1, .ports_per_leaf = 3, .spines = 4},
       PlayPathCut},
      {"cables_swapped",
       "Cables are swapped: rules say which, and blame names nobody.",
       {.nodes = 32, .rails = 4, .ports_per_leaf = 8, .spines = 4},
       PlayCabling},
      {.name = "mesh",
       .doc = "The mesh names an uplink that is cut and goes on after crashes.",
       .shape = {.nodes = 24, .rails = 2, .ports_per_leaf = 6, .spines = 4},
       .play = PlayMesh,
       .mesh = true},
      {"incast",
       "Many send to one at once: the verdict is what the switch did, or that it cannot be told.",
       {.nodes = 12, .rails = 2, .ports_per_leaf = 12, .spines = 2},
       PlayIncast},
      {"certificates",
       "Certificates pass who is well, name who is not, and fail nobody for being late.",
       {.nodes = 24, .rails = 2, .ports_per_leaf = 6, .spines = 4},
       PlayCertificates},
      {"certificates_1024",
       "1,024 nodes are certified within 60 s, with a slow port and with agents that hang.",
       {.nodes = 1024, .rails = 1, .ports_per_leaf = 32, .spines = 16},
       PlayThousandCertified},
      {"all_pairs",
       "Each node with each other one: one round less than there are nodes.",
       {.nodes = 64, .rails = 1, .ports_per_leaf = 32, .spines = 16},
       PlayAllPairs,
       nullptr,
       false,
       512},
      {"ten_thousand",
       "Ten thousand agents connect, report and run a random regular campaign.",
       {.nodes = 10'000, .rails = 1, .ports_per_leaf = 32, .spines = 16},
       PlayTenThousand,
       nullptr,
       false,
       512,
       true},
  };
  return scenarios;
}

Report Play(const FleetScenario& scenario, const FleetRun& run) {
  Shape shape = scenario.shape;
  if (run.nodes > 0) shape.nodes = run.nodes;
  if (run.rails > 0) shape.rails = run.rails;
  const auto fleet =
      std::make_unique<Fleet>(FleetOptions{.seed = run.seed,
                                           .shape = shape,
                                           .counters = scenario.counters,
                                           .mesh = scenario.mesh,
                                           .pairs_at_once = scenario.pairs_at_once,
                                           .slow_closes = scenario.trouble != nullptr ? 0.005 : 0,
                                           .show = run.show});
  Report report;
  scenario.play(scenario, *fleet, report);
  const FleetCounts& counts = fleet->checks().counts();
  report.figures.push_back(Format(
      "{} nodes, {:.1f} simulated s, {} events; {} probes, {} results, {} refused as busy, {} "
      "lost, {} back, {} findings, {} messages up, {} down",
      fleet->size(), std::chrono::duration<double>(fleet->now()).count(), fleet->queue().steps(),
      counts.probes, counts.results, counts.refused_busy, counts.nodes_lost, counts.nodes_back,
      counts.findings, counts.messages_up, counts.messages_down));
  report.violations = fleet->checks().violations();
  report.trace = fleet->trace().hash();
  return report;
}

}  // namespace fabric::sim
