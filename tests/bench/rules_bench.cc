// How long it takes to see and to judge a whole fleet of nodes with nine ports each.
#include <benchmark/benchmark.h>

#include "daemon/rules/rule.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

constexpr std::uint32_t kPorts = 9;

std::vector<fleet::NodeRecord> Records(std::uint32_t count) {
  std::vector<fleet::NodeRecord> records;
  records.reserve(count);
  for (std::uint32_t number = 1; number <= count; ++number) {
    v1::NodeSnapshot node = testing::RoceNode({.number = number, .rails = kPorts});
    records.push_back({.name = node.node().name(), .snapshot = std::move(node)});
  }
  return records;
}

void View(benchmark::State& state) {
  const auto records = Records(static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    const fleet::FleetView view(records);
    benchmark::DoNotOptimize(view.rails().size());
  }
}
BENCHMARK(View)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);

void EvaluateHealthy(benchmark::State& state) {
  const auto records = Records(static_cast<std::uint32_t>(state.range(0)));
  const fleet::FleetView view(records);
  std::uint64_t verdicts = 0;
  for (auto _ : state) {
    const Evaluation evaluation = Evaluate(view);
    if (evaluation.counts.fail() + evaluation.counts.unknown() != 0)
      state.SkipWithError("the fleet is not healthy");
    verdicts = evaluation.counts.pass();
  }
  state.counters["verdicts"] = static_cast<double>(verdicts);
}
BENCHMARK(EvaluateHealthy)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);

// One node of a hundred has a wrong MTU on every port.
void EvaluateFaulty(benchmark::State& state) {
  auto records = Records(static_cast<std::uint32_t>(state.range(0)));
  for (std::size_t i = 0; i < records.size(); i += 100)
    for (std::uint32_t rail = 0; rail < kPorts; ++rail)
      testing::SetMtu(records[i].snapshot, rail, 1500);
  const fleet::FleetView view(records);
  std::uint64_t findings = 0;
  for (auto _ : state) findings = Evaluate(view).findings.size();
  state.counters["findings"] = static_cast<double>(findings);
}
BENCHMARK(EvaluateFaulty)->Arg(1024)->Arg(16384)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::rules
