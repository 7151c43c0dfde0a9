// What it costs to write down what a report changed, on a node with nine ports, and to infer a
// profile of a fleet of them.
#include <benchmark/benchmark.h>

#include "daemon/infer/infer.h"
#include "daemon/snapshot_diff/difference.h"
#include "daemon/snapshot_diff/history.h"
#include "proto/snapshot_change.h"
#include "tests/testing/nodes.h"

namespace fabric {
namespace {

v1::NodeSnapshot Node(std::uint32_t number) {
  return testing::RoceNode({.number = number, .rails = 9});
}

void FlattenNode(benchmark::State& state) {
  const v1::NodeSnapshot node = Node(1);
  std::size_t facts = 0;
  for (auto _ : state) facts = snapshot_diff::Flatten(node).size();
  state.counters["facts"] = static_cast<double>(facts);
}
BENCHMARK(FlattenNode)->Unit(benchmark::kMicrosecond);

// A report in which one netdev has another MTU.
void ChangedReport(benchmark::State& state) {
  const v1::NodeSnapshot before = Node(1);
  v1::NodeSnapshot after = before;
  testing::NetdevOf(after, 4).set_mtu_bytes(1500);
  const auto change = Difference(before, after);
  for (auto _ : state) benchmark::DoNotOptimize(snapshot_diff::ChangeOf(before, *change, {}));
}
BENCHMARK(ChangedReport)->Unit(benchmark::kMicrosecond);

void DiffOfTwoNodes(benchmark::State& state) {
  const v1::NodeSnapshot a = Node(1), b = Node(2);
  for (auto _ : state) benchmark::DoNotOptimize(snapshot_diff::Diff(a, b));
}
BENCHMARK(DiffOfTwoNodes)->Unit(benchmark::kMicrosecond);

void InferProfile(benchmark::State& state) {
  std::vector<fleet::NodeRecord> records;
  for (std::uint32_t number = 1; number <= state.range(0); ++number) {
    v1::NodeSnapshot node = Node(number);
    const std::string name = node.node().name();
    records.push_back({.name = name, .snapshot = std::move(node)});
  }
  const fleet::FleetView view(records);
  for (auto _ : state) benchmark::DoNotOptimize(infer::InferProfile(view));
}
BENCHMARK(InferProfile)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabric
