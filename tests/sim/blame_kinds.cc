// Kinds of faults and of healthy disturbances that blame is played with.
#include "tests/sim/blame_scenario.h"

namespace fabric::sim {
namespace {

Port AnyPort(const Clos& clos, Random& random) {
  return {static_cast<std::uint32_t>(random.Below(clos.shape().nodes)),
          static_cast<std::uint32_t>(random.Below(clos.shape().rails))};
}

std::uint32_t AnyLeaf(const Clos& clos, Random& random) {
  return static_cast<std::uint32_t>(random.Below(clos.leaves()));
}

std::uint32_t AnySpine(const Clos& clos, Random& random) {
  return static_cast<std::uint32_t>(random.Below(clos.shape().spines));
}

void PlantNothing(Clos&, Random&) {}

void SwapCables(Clos& clos, Random& random) {
  for (int i = 0; i < 3; ++i) {
    const Port a = AnyPort(clos, random);
    clos.Swap(a, {(a.node + clos.shape().ports_per_leaf) % clos.shape().nodes, a.rail});
  }
}

void PlantPortDead(Clos& clos, Random& random) {
  clos.Add({.port = AnyPort(clos, random), .loss = 1});
}

void PlantPortLossy(Clos& clos, Random& random) {
  clos.Add({.port = AnyPort(clos, random), .loss = random.LogBetween(1e-3, 0.1)});
}

// 1 in 1,000 there and back together.
void PlantPortGrey(Clos& clos, Random& random) {
  clos.Add({.port = AnyPort(clos, random), .loss = 5e-4});
}

void PlantOneWay(Clos& clos, Random& random) {
  const bool out = random.Chance(0.5);
  clos.Add({.port = AnyPort(clos, random),
            .loss = random.LogBetween(2e-3, 0.3),
            .out = out,
            .in = !out});
}

void PlantOneWayReported(Clos& clos, Random& random) {
  clos.tells_ways = true;
  PlantOneWay(clos, random);
}

void PlantHalfRate(Clos& clos, Random& random) {
  clos.Add({.port = AnyPort(clos, random), .speed = 0.5});
}

void PlantSlowOneWay(Clos& clos, Random& random) {
  const bool out = random.Chance(0.5);
  clos.Add(
      {.port = AnyPort(clos, random), .speed = random.Between(0.3, 0.75), .out = out, .in = !out});
}

// Emulated guests: nothing is as fast as the time before. Those of the lab scatter by 0.12 to 0.3.
void PlantScatter(Clos& clos, Random& random) {
  clos.noise.scatter = random.Between(0.1, 0.35);
}

void PlantSlowInScatter(Clos& clos, Random& random) {
  PlantScatter(clos, random);
  clos.Add({.port = AnyPort(clos, random), .speed = random.LogBetween(0.05, 0.3)});
}

void PlantFlapping(Clos& clos, Random& random) {
  const auto period = static_cast<std::uint32_t>(2 + random.Below(3));
  clos.Add({.port = AnyPort(clos, random),
            .loss = 1,
            .period = period,
            .present = static_cast<std::uint32_t>(1 + random.Below(period - 1))});
}

void PlantHostDead(Clos& clos, Random& random) {
  clos.Add({.where = Where::kHost, .port = AnyPort(clos, random), .loss = 1});
}

void PlantAgentLost(Clos& clos, Random& random) {
  clos.Add({.where = Where::kHost, .port = AnyPort(clos, random), .agent_lost = true});
}

void PlantHostSlow(Clos& clos, Random& random) {
  clos.Add({.where = Where::kHost,
            .port = AnyPort(clos, random),
            .speed = random.Between(0.4, 0.8),
            .latency = random.LogBetween(3, 20)});
}

void PlantLeafDead(Clos& clos, Random& random) {
  clos.Add({.where = Where::kLeaf, .leaf = AnyLeaf(clos, random), .loss = 1});
}

void PlantLeafLossy(Clos& clos, Random& random) {
  clos.Add(
      {.where = Where::kLeaf, .leaf = AnyLeaf(clos, random), .loss = random.LogBetween(1e-3, 0.1)});
}

void PlantUplinkDead(Clos& clos, Random& random) {
  clos.Add({.where = Where::kUplink,
            .leaf = AnyLeaf(clos, random),
            .spine = AnySpine(clos, random),
            .loss = 1});
}

void PlantUplinkDeadReported(Clos& clos, Random& random) {
  clos.tells_ways = true;
  PlantUplinkDead(clos, random);
}

void PlantUplinkLossy(Clos& clos, Random& random) {
  clos.Add({.where = Where::kUplink,
            .leaf = AnyLeaf(clos, random),
            .spine = AnySpine(clos, random),
            .loss = random.LogBetween(0.02, 0.5)});
}

void PlantSpineLossy(Clos& clos, Random& random) {
  clos.Add({.where = Where::kSpine,
            .spine = AnySpine(clos, random),
            .loss = random.LogBetween(0.02, 1)});
}

void PlantLeafPair(Clos& clos, Random& random) {
  const std::uint32_t per_rail = clos.leaves() / clos.shape().rails;
  const std::uint32_t leaf = AnyLeaf(clos, random);
  const std::uint32_t step = 1 + static_cast<std::uint32_t>(random.Below(per_rail - 1));
  clos.Add({.where = Where::kLeafPair,
            .leaf = leaf,
            .other_leaf = leaf / per_rail * per_rail + (leaf % per_rail + step) % per_rail,
            .loss = random.LogBetween(0.02, 1)});
}

void PlantRailSlow(Clos& clos, Random& random) {
  clos.Add(
      {.where = Where::kRail, .port = AnyPort(clos, random), .speed = random.Between(0.4, 0.8)});
}

void PlantSeveral(Clos& clos, Random& random) {
  const Port dead = AnyPort(clos, random);
  Port lossy = dead;
  while (lossy.node == dead.node) lossy = AnyPort(clos, random);
  Port host = dead;
  while (host.node == dead.node || host.node == lossy.node) host = AnyPort(clos, random);
  clos.Add({.port = dead, .loss = 1});
  clos.Add({.port = lossy, .loss = random.LogBetween(2e-3, 0.1)});
  clos.Add({.where = Where::kHost, .port = host, .loss = 1});
}

void PlantSwappedAndLossy(Clos& clos, Random& random) {
  SwapCables(clos, random);
  PlantPortLossy(clos, random);
}

// Other machines use the processors: every probe is late or slow by its own factor, and all of a
// host's probes of one round by another one.
void PlantLoadOnAll(Clos& clos, Random& random) {
  clos.noise.scatter = random.Between(0.1, 0.3);
  clos.noise.latency_jitter = random.Between(0.15, 0.4);
  clos.noise.host_load = random.Between(0.1, 0.4);
}

void PlantPortDeadUnderLoad(Clos& clos, Random& random) {
  PlantLoadOnAll(clos, random);
  PlantPortDead(clos, random);
}

// A guest that is stopped and continued: probes with it time out, or break on the way.
void PlantHostFrozen(Clos& clos, Random& random) {
  clos.Add(
      {.where = Where::kHost, .port = AnyPort(clos, random), .frozen = random.Between(0.3, 0.9)});
}

// Guests of one machine stand still together.
void PlantCorrelatedPauses(Clos& clos, Random& random) {
  clos.noise.pause_group = static_cast<std::uint32_t>(2 + random.Below(3));
  clos.noise.pause = random.Between(0.1, 0.5);
}

void PlantTwoUplinks(Clos& clos, Random& random) {
  const std::uint32_t first = AnyLeaf(clos, random);
  std::uint32_t second = first;
  while (second == first) second = AnyLeaf(clos, random);
  clos.Add({.where = Where::kUplink,
            .leaf = first,
            .spine = AnySpine(clos, random),
            .loss = random.LogBetween(0.3, 1)});
  clos.Add({.where = Where::kUplink,
            .leaf = second,
            .spine = AnySpine(clos, random),
            .loss = random.LogBetween(0.03, 0.15)});
}

void PlantPortAndUplink(Clos& clos, Random& random) {
  PlantUplinkDead(clos, random);
  PlantPortLossy(clos, random);
}

void PlantUplinkLate(Clos& clos, Random& random) {
  clos.Add({.where = Where::kUplink,
            .leaf = AnyLeaf(clos, random),
            .spine = AnySpine(clos, random),
            .latency = random.LogBetween(4, 16)});
}

constexpr std::uint32_t kJobClass = 106;

void PlantOneClass(Clos& clos, Random& random) {
  clos.SetTrafficClass(kJobClass);
  clos.Add({.port = AnyPort(clos, random),
            .loss = random.LogBetween(0.05, 1),
            .traffic_class = kJobClass});
}

// The fault is there, and nothing that is sent has its class.
void PlantOtherClass(Clos& clos, Random& random) {
  PlantOneClass(clos, random);
  clos.SetTrafficClass(0);
  clos.ForgetFaults();
}

void PlantHalfLag(Clos& clos, Random& random) {
  clos.Add({.port = AnyPort(clos, random), .loss = random.LogBetween(0.05, 1), .share = 0.5});
}

// Packets that come twice or out of order cost bandwidth on every path.
void PlantReordering(Clos& clos, Random& random) {
  clos.Add({.where = Where::kFabric, .speed = random.Between(0.6, 0.9)});
  clos.ForgetFaults();
  clos.noise.speed_jitter = random.Between(0.05, 0.15);
}

void PlantControllerLoad(Clos& clos, Random& random) {
  clos.noise.controller_late = random.Between(0.05, 0.3);
}

void PlantPolarisation(Clos& clos, Random& random) {
  clos.noise.collision = random.Between(0.1, 0.5);
}

void PlantThreeUnequal(Clos& clos, Random& random) {
  PlantTwoUplinks(clos, random);
  PlantPortLossy(clos, random);
}

// Large packets only: pings are small and pass.
void PlantSmallMtuOnSpine(Clos& clos, Random& random) {
  clos.Add({.where = Where::kSpine, .spine = AnySpine(clos, random), .loss = 1, .small_loss = 0});
}

// Bit errors: a packet of 64 bytes is lost 64 times less often than one of 4,096.
void PlantLossBySize(Clos& clos, Random& random) {
  clos.Add({.port = AnyPort(clos, random),
            .loss = random.LogBetween(1e-3, 0.1),
            .small_loss = 1.0 / 64});
}

void PlantCongestion(Clos& clos, Random& random) {
  const auto period = static_cast<std::uint32_t>(2 + random.Below(3));
  clos.Add({.where = Where::kUplink,
            .leaf = AnyLeaf(clos, random),
            .spine = AnySpine(clos, random),
            .loss = random.LogBetween(1e-4, 1e-2),
            .speed = random.Between(0.2, 0.6),
            .latency = random.LogBetween(4, 16),
            .period = period,
            .present = static_cast<std::uint32_t>(1 + random.Below(period - 1))});
}

// The machine of all guests does something else.
void PlantSlowSeconds(Clos& clos, Random& random) {
  clos.noise.slow_from_s = random.Between(0, 4);
  clos.noise.slow_to_s = clos.noise.slow_from_s + random.Between(1, 2);
  clos.noise.slow_flows = random.Between(0.1, 0.8);
}

constexpr Kind kKinds[] = {
    {"healthy", PlantNothing},
    {"healthy_cables_swapped", SwapCables, false, true},
    {"healthy_speeds_scatter", PlantScatter},
    {"port_dead", PlantPortDead},
    {"port_lossy", PlantPortLossy},
    {"port_grey_1_in_1000", PlantPortGrey},
    {"port_lossy_one_way", PlantOneWay},
    {"port_lossy_one_way_reported", PlantOneWayReported},
    {"port_half_rate", PlantHalfRate},
    {"port_slow_one_way", PlantSlowOneWay},
    {"port_slow_speeds_scatter", PlantSlowInScatter},
    {"port_flapping", PlantFlapping},
    {"port_lossy_cables_swapped", PlantSwappedAndLossy, false, true},
    {"host_dead", PlantHostDead, true},
    {"host_agent_lost", PlantAgentLost, true},
    {"host_slow", PlantHostSlow, true},
    {"leaf_dead", PlantLeafDead, false, true},
    {"leaf_lossy", PlantLeafLossy, false, true},
    {"uplink_dead", PlantUplinkDead, false, true},
    {"uplink_dead_reported", PlantUplinkDeadReported, false, true},
    {"uplink_lossy", PlantUplinkLossy, false, true},
    {"spine_lossy", PlantSpineLossy, false, true},
    {"leaf_pair", PlantLeafPair, false, true},
    {"rail_slow", PlantRailSlow, true},
    {.name = "healthy_load_on_all", .plant = PlantLoadOnAll},
    {.name = "healthy_correlated_pauses", .plant = PlantCorrelatedPauses},
    {.name = "healthy_reordering", .plant = PlantReordering},
    {"healthy_in_other_class", PlantOtherClass},
    {.name = "port_dead_under_load", .plant = PlantPortDeadUnderLoad},
    {.name = "host_frozen", .plant = PlantHostFrozen, .several_rails = true, .may_stay_open = true},
    {.name = "two_unequal_uplinks", .plant = PlantTwoUplinks, .needs_leaves = true},
    {"healthy_controller_loaded", PlantControllerLoad},
    {.name = "healthy_ecmp_polarised", .plant = PlantPolarisation, .needs_leaves = true},
    {.name = "three_unequal_faults", .plant = PlantThreeUnequal, .needs_leaves = true},
    {.name = "spine_small_mtu",
     .plant = PlantSmallMtuOnSpine,
     .needs_leaves = true,
     .may_stay_open = true},
    {"port_loss_by_size", PlantLossBySize},
    {.name = "uplink_congested_at_times",
     .plant = PlantCongestion,
     .needs_leaves = true,
     .may_stay_open = true},
    {"port_and_uplink", PlantPortAndUplink, false, true},
    {.name = "uplink_late", .plant = PlantUplinkLate, .needs_leaves = true, .may_stay_open = true},
    {"port_lossy_in_one_class", PlantOneClass},
    {.name = "port_half_lag", .plant = PlantHalfLag, .may_stay_open = true},
    {.name = "pair_dead", .plant = PlantNothing, .of_planned_pair = true},
    {"two_ports_and_a_host", PlantSeveral, true},
    {"healthy_slow_seconds", PlantSlowSeconds},
    {.name = "healthy_slow_seconds_one_by_one", .plant = PlantSlowSeconds, .one_by_one = true},
    {.name = "port_dead_one_by_one", .plant = PlantPortDead, .one_by_one = true},
    {.name = "uplink_lossy_one_by_one",
     .plant = PlantUplinkLossy,
     .needs_leaves = true,
     .one_by_one = true},
    {.name = "uplink_late_one_by_one",
     .plant = PlantUplinkLate,
     .needs_leaves = true,
     .may_stay_open = true,
     .one_by_one = true},
};

}  // namespace

std::span<const Kind> Kinds() {
  return kKinds;
}

}  // namespace fabric::sim
