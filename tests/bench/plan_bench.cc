// What a plan costs: to make, and to go through. Run by hand: see docs/BENCHMARKS.md.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/plan/plan.h"

namespace fabric::plan {
namespace {

std::vector<Port> Ports(std::uint32_t nodes, std::uint32_t rails) {
  std::vector<Port> ports;
  ports.reserve(std::size_t{nodes} * rails);
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      Port& port = ports.emplace_back();
      port.port.set_node(Format("n{}", node));
      port.port.set_device(Format("mlx5_{}", rail));
      port.port.set_port(1);
      port.port.set_rail(rail);
      port.network = v1::LINK_LAYER_ETHERNET;
    }
  }
  return ports;
}

// From the list of ports to a plan whose rounds can be asked for. Promised: 200 ms for 4,096 nodes
// with eight rails.
void MakePlan(benchmark::State& state, v1::CampaignPattern pattern) {
  const std::vector<Port> ports =
      Ports(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1)));
  v1::CampaignSpec spec;
  spec.set_pattern(pattern);
  std::uint64_t pairs = 0, rounds = 0;
  for (auto _ : state) {
    const auto plan = plan::MakePlan(ports, {}, spec);
    if (!plan.ok()) return state.SkipWithError(plan.status().message().c_str());
    pairs = plan->rounds.pairs();
    rounds = plan->rounds.size();
  }
  state.counters["rounds"] = static_cast<double>(rounds);
  state.counters["pairs"] = static_cast<double>(pairs);
}

// Every pair of every round, one round in memory at a time.
void AllPairs(benchmark::State& state) {
  const auto plan = plan::MakePlan(
      Ports(static_cast<std::uint32_t>(state.range(0)), static_cast<std::uint32_t>(state.range(1))),
      {}, {});
  if (!plan.ok()) return state.SkipWithError(plan.status().message().c_str());
  std::vector<Pair> round;
  std::uint64_t pairs = 0;
  for (auto _ : state) {
    pairs = 0;
    for (std::size_t at = 0; at < plan->rounds.size(); ++at) {
      plan->rounds.At(at, round);
      pairs += round.size();
      benchmark::DoNotOptimize(round.data());
    }
  }
  if (pairs != plan->rounds.pairs()) return state.SkipWithError("pairs are missing");
  state.counters["pairs"] = static_cast<double>(pairs);
}

void MakeAllPairs(benchmark::State& state) {
  MakePlan(state, v1::CAMPAIGN_PATTERN_ALL_PAIRS);
}
void MakeRandomRegular(benchmark::State& state) {
  MakePlan(state, v1::CAMPAIGN_PATTERN_RANDOM_REGULAR);
}
void MakeCrossRail(benchmark::State& state) {
  MakePlan(state, v1::CAMPAIGN_PATTERN_CROSS_RAIL);
}

BENCHMARK(MakeAllPairs)->Args({1024, 1})->Args({4096, 8})->Unit(benchmark::kMillisecond);
BENCHMARK(MakeRandomRegular)->Args({4096, 8})->Unit(benchmark::kMillisecond);
BENCHMARK(MakeCrossRail)->Args({4096, 8})->Unit(benchmark::kMillisecond);
BENCHMARK(AllPairs)->Args({1024, 1})->Args({4096, 8})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::plan
