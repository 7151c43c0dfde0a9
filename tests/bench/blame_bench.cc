// What a judgement costs. Run by hand: see docs/BENCHMARKS.md.
#include <benchmark/benchmark.h>

#include <vector>

#include "tests/unit/blame/bench.h"

#include "daemon/blame/analyzer.h"

namespace fabric::blame::testing {
namespace {

// Six rounds of eight rails: 147,456 observations of 1,024 nodes.
Layout LayoutOf(const benchmark::State& state) {
  return {
      .nodes = static_cast<std::uint32_t>(state.range(0)), .rails = 8, .per_leaf = 32, .rounds = 6};
}

// One in 500 that loses a packet, one in 5,000 that is slow or fails: as it is in a sound fabric.
std::vector<Observation> Noisy(const Layout& layout) {
  std::vector<Observation> seen = Healthy(layout);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].attempts > 0 && i % 500 == 7) seen[i].failures = 1;
    if (seen[i].speed && i % 5000 == 4) seen[i].speed = 0.6F;
    if (seen[i].attempts > 0 && i % 5000 == 1) seen[i].failures = 30;
  }
  return seen;
}

// A dead port, a lossy one, a slow host, a leaf that loses 1 in 100. Of the leaf it stays open
// whether it is its ways out: in six rounds of so many nodes hardly any two of its ports meet.
std::vector<Observation> Faulty(const Layout& layout) {
  const auto node = [&](std::uint32_t endpoint) { return endpoint / layout.rails; };
  const auto leaf = [&](std::uint32_t endpoint) {
    return endpoint % layout.rails == 3 && node(endpoint) / layout.per_leaf == 1;
  };
  auto seen = Noisy(layout);
  seen = With(
      std::move(seen), [&](const auto& one) { return leaf(one.from) || leaf(one.to); },
      [](Observation& one) { Lose(one, 0.01); });
  seen = With(
      std::move(seen), [](const auto& one) { return Touches(one, 77); },
      [](Observation& one) { Lose(one, 0.002); });
  seen = With(
      std::move(seen), [&](const auto& one) { return node(one.from) == 9 || node(one.to) == 9; },
      [](Observation& one) {
        if (one.speed) one.speed = 0.5F;
      });
  return With(
      std::move(seen), [](const auto& one) { return Touches(one, 160); }, Dead);
}

void Count(benchmark::State& state, const Assessment& assessment, std::size_t observations) {
  state.counters["observations"] = static_cast<double>(observations);
  state.counters["suspects"] = assessment.report.suspects_size();
  state.counters["undecided"] = assessment.report.undecided_size();
}

// Everything from scratch.
void Assess(benchmark::State& state, std::vector<Observation> (*make)(const Layout&)) {
  const Fabric fabric = FabricOf(LayoutOf(state));
  const std::vector<Observation> seen = make(LayoutOf(state));
  Assessment assessment;
  for (auto _ : state) assessment = blame::Assess(fabric, seen);
  Count(state, assessment, seen.size());
}

// As a campaign does after each round: all but the newest round is there.
void AssessOnce(benchmark::State& state, std::vector<Observation> (*make)(const Layout&)) {
  const Fabric fabric = FabricOf(LayoutOf(state));
  Analyzer analyzer(fabric);
  analyzer.Add(make(LayoutOf(state)));
  Assessment assessment;
  for (auto _ : state) assessment = analyzer.Assess();
  Count(state, assessment, analyzer.size());
}

void AddRound(benchmark::State& state) {
  const Layout layout = LayoutOf(state);
  const Fabric fabric = FabricOf(layout);
  const std::vector<Observation> seen = Noisy(layout);
  const std::size_t most = seen.size() / layout.rounds * (layout.rounds - 1);
  Analyzer before(fabric);
  before.Add(std::span(seen).first(most));
  for (auto _ : state) {
    state.PauseTiming();
    Analyzer analyzer = before;
    state.ResumeTiming();
    analyzer.Add(std::span(seen).subspan(most));
    benchmark::DoNotOptimize(analyzer.size());
  }
}

void Copy(benchmark::State& state) {
  const Fabric fabric = FabricOf(LayoutOf(state));
  Analyzer analyzer(fabric);
  analyzer.Add(Noisy(LayoutOf(state)));
  for (auto _ : state) {
    const Analyzer copy = analyzer;
    benchmark::DoNotOptimize(copy.size());
  }
}

BENCHMARK_CAPTURE(Assess, healthy, Healthy)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(AssessOnce, healthy, Healthy)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(AssessOnce, noisy, Noisy)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(AssessOnce, faulty, Faulty)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(AddRound)->Arg(1024)->Unit(benchmark::kMillisecond);
BENCHMARK(Copy)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::blame::testing
