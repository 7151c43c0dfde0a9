// What the agent does every second: inspect a machine, see what has changed, make metrics of it.
#include <benchmark/benchmark.h>

#include "agents/host/machine.h"
#include "agents/inspect/inspector.h"
#include "agents/metrics/metrics.h"
#include "proto/snapshot_change.h"
#include "tests/testing/tree_archive.h"

namespace fabric {
namespace {

constexpr const char* kFixture = "roce_connectx6dx";

v1::NodeSnapshot Inspect(const std::string& root) {
  auto machine = host::Machine::Open(root);
  return inspect::Inspect(machine->host(), {.node_name = "n1", .now = {}});
}

void InspectFixture(benchmark::State& state) {
  const testing::Fixture fixture(kFixture);
  auto machine = host::Machine::Open(fixture.path());
  for (auto _ : state)
    benchmark::DoNotOptimize(inspect::Inspect(machine->host(), {.node_name = "n1", .now = {}}));
}
BENCHMARK(InspectFixture)->Unit(benchmark::kMicrosecond);

void DifferenceOfEqualSnapshots(benchmark::State& state) {
  const v1::NodeSnapshot snapshot = Inspect(testing::Fixture(kFixture).path());
  for (auto _ : state) benchmark::DoNotOptimize(Difference(snapshot, snapshot));
}
BENCHMARK(DifferenceOfEqualSnapshots)->Unit(benchmark::kMicrosecond);

void DifferenceOfOneMtu(benchmark::State& state) {
  const v1::NodeSnapshot before = Inspect(testing::Fixture(kFixture).path());
  v1::NodeSnapshot after = before;
  after.mutable_net_interfaces(0)->set_mtu_bytes(1234);
  for (auto _ : state) benchmark::DoNotOptimize(Difference(before, after));
}
BENCHMARK(DifferenceOfOneMtu)->Unit(benchmark::kMicrosecond);

void Exposition(benchmark::State& state) {
  const v1::NodeSnapshot snapshot = Inspect(testing::Fixture(kFixture).path());
  for (auto _ : state)
    benchmark::DoNotOptimize(agent::ToExposition({.snapshot = snapshot, .agent = {}}));
}
BENCHMARK(Exposition)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fabric
