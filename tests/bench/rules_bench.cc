// What it costs to judge a fleet of nodes with nine ports each: from scratch, for one report that
// has changed, and in memory. Labels say what is promised.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

#include "base/text.h"
#include "daemon/rules/engine.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

constexpr std::uint32_t kPorts = 9;

// Every hundredth node has a fault on all ports.
void Break(v1::NodeSnapshot& node, std::uint32_t number) {
  for (std::uint32_t rail = 0; rail < kPorts; ++rail) {
    switch (number / 100 % 4) {
      case 0: testing::SetMtu(node, rail, 1500); break;
      case 1: testing::SetPfc(node, rail, 0); break;
      case 2: testing::LinkDown(node, rail); break;
      default: testing::DeviceOf(node, rail).set_firmware("28.0.1"); break;
    }
  }
}

std::size_t Allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Records {
  std::vector<fleet::NodeRecord> nodes;
  std::size_t bytes = 0;  // Of all
};

// The last one made is kept: each takes seconds.
Records& FleetOf(std::uint32_t count, bool faulty) {
  static std::pair<std::uint32_t, bool> made;
  static Records records;
  if (made == std::pair(count, faulty)) return records;
  records.nodes.clear();
  const std::size_t before = Allocated();
  for (std::uint32_t number = 1; number <= count; ++number) {
    v1::NodeSnapshot node = testing::RoceNode({.number = number, .rails = kPorts});
    if (faulty && number % 100 == 0) Break(node, number);
    records.nodes.push_back({.name = node.node().name(), .snapshot = std::move(node)});
  }
  records.bytes = Allocated() - before;
  made = {count, faulty};
  return records;
}

void View(benchmark::State& state) {
  const auto& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), false).nodes;
  for (auto _ : state) {
    const fleet::FleetView view(records);
    benchmark::DoNotOptimize(view.rails().size());
  }
}

void FromScratch(benchmark::State& state) {
  const bool faulty = state.range(1) != 0;
  const Records& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), faulty);
  v1::VerdictCounts counts;
  for (auto _ : state) {
    auto engine = std::make_unique<Engine>();
    for (const fleet::NodeRecord& record : records.nodes) engine->Put(record);
    counts = engine->Take().counts;
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
  if (!faulty && counts.fail() + counts.unknown() != 0)
    state.SkipWithError("the fleet is not healthy");
  state.counters["passes"] = static_cast<double>(counts.pass());
  state.counters["findings"] = static_cast<double>(counts.fail() + counts.unknown());
  state.SetLabel("promised at 16384: under 2000 ms on one core");
}

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Reports of one node after the other, each of which has changed. Odd rounds break a port of which
// even ones say that it is mended, where `breaks` says so; else all stay as they are.
void OneReport(benchmark::State& state, bool faulty, bool breaks) {
  static std::map<std::pair<bool, bool>, double> of_small;  // By kind, in a small fleet
  auto& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), faulty).nodes;
  Engine engine;
  for (const fleet::NodeRecord& record : records) engine.Put(record);
  (void)engine.Take();
  std::size_t at = 0;
  bool broken = false;
  double total = 0;
  for (auto _ : state) {
    v1::NodeSnapshot& node = records[at].snapshot;
    v1::NodeSnapshot report = node;
    report.mutable_taken_at()->set_seconds(report.taken_at().seconds() + 1);
    if (breaks) testing::SetMtu(report, 3, broken ? 9000 : 1500);
    node = report;  // As Fleet::Put does it
    const double start = CpuSeconds();
    engine.Put(records[at]);
    const Delta delta = engine.Take();
    const double seconds = CpuSeconds() - start;
    benchmark::DoNotOptimize(delta.counts.pass());
    state.SetIterationTime(seconds);
    total += seconds;
    broken = breaks && !broken;
    if (!broken) at = (at + 379) % records.size();  // Not those whose neighbours are in the cache
    if (faulty && breaks && (at + 1) % 100 == 0) ++at;
  }
  const double mean = total / static_cast<double>(state.iterations());
  double& small = of_small[{faulty, breaks}];
  if (small == 0) small = mean;
  state.SetLabel(
      Format("promised: under 100 us, at 16384 at most 1.25 of 1024; {:.2f} of it", mean / small));
}

// Bytes for each node, and what a round of reports from all of them adds.
void Memory(benchmark::State& state) {
  Records& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), state.range(1) != 0);
  const double nodes = static_cast<double>(records.nodes.size());
  double engine_bytes = 0;
  double growth = 0;
  for (auto _ : state) {
    const std::size_t before = Allocated();
    const auto engine = std::make_unique<Engine>();
    for (const fleet::NodeRecord& record : records.nodes) engine->Put(record);
    (void)engine->Take();
    const std::size_t fed = Allocated();
    for (int round = 0; round < 3; ++round) {
      for (const fleet::NodeRecord& record : records.nodes) {
        engine->Put(record);
        (void)engine->Take();
      }
    }
    engine_bytes = static_cast<double>(fed - before) / nodes;
    growth = (static_cast<double>(Allocated()) - static_cast<double>(fed)) / nodes;
  }
  state.counters["snapshot_B/node"] = static_cast<double>(records.bytes) / nodes;
  state.counters["engine_B/node"] = engine_bytes;
  state.counters["growth_B/node"] = growth;
}

constexpr std::int64_t kSizes[] = {1024, 4096, 16384};

void Register() {
  using benchmark::RegisterBenchmark;
  for (const bool faulty : {false, true}) {
    const std::string fleet = faulty ? "1%_faulty" : "healthy";
    for (const std::int64_t size : kSizes) {
      RegisterBenchmark(("from_scratch/" + fleet).c_str(), FromScratch)
          ->Args({size, faulty})
          ->Iterations(3)
          ->Unit(benchmark::kMillisecond);
      for (const bool breaks : {false, true})
        RegisterBenchmark(
            ("report_" + std::string(breaks ? "breaks_and_mends_a_port/" : "without_news/") + fleet)
                .c_str(),
            OneReport, faulty, breaks)
            ->Arg(size)
            ->Iterations(8000)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      RegisterBenchmark(("memory/" + fleet).c_str(), Memory)
          ->Args({size, faulty})
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
      if (!faulty)
        RegisterBenchmark("view", View)->Arg(size)->Iterations(3)->Unit(benchmark::kMillisecond);
    }
  }
}

}  // namespace
}  // namespace fabric::rules

int main(int argc, char** argv) {
  fabric::rules::Register();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
