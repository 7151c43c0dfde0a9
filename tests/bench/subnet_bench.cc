// Routes of a fat tree of the size of Selene: 660 switches, 4,400 adapters, 19.4 million pairs.
#include <benchmark/benchmark.h>

#include "subnet/checks/check.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

const Subnet& Large() {
  static const Subnet subnet = [] {
    testing::TestSubnet made = testing::Make(testing::Pods{
        .pods = 20, .leaves = 10, .spines = 16, .cores = 140, .hosts = 22, .uplinks = 16});
    made.Route();
    return made.Read();
  }();
  return subnet;
}

// Reachability, hops, loads and credit loops of all pairs.
void Routes(benchmark::State& state) {
  const Subnet& subnet = Large();
  for (auto _ : state) {
    const Graph graph(subnet);
    const RouteReport report = AnalyseRoutes(graph);
    const CreditLoops loops = FindCreditLoops(graph, report);
    benchmark::DoNotOptimize(loops.channels);
    state.counters["pairs"] = static_cast<double>(report.pairs);
    state.counters["unreachable"] = static_cast<double>(report.unreachable);
  }
}
BENCHMARK(Routes)->Unit(benchmark::kMillisecond);

void AllSubnetChecks(benchmark::State& state) {
  const Subnet& subnet = Large();
  for (auto _ : state) {
    const Evaluation evaluation = Evaluate(subnet, nullptr, {});
    state.counters["fail"] = evaluation.counts.fail();
  }
}
BENCHMARK(AllSubnetChecks)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric::subnet
