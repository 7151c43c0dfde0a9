// Cost of judging a fleet of nodes with nine ports each: from scratch, for one changed report, and
// in memory. Labels state the promises.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

#include "base/text.h"
#include "daemon/rules/engine/engine.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"

namespace fabric::rules {
namespace {

constexpr std::uint32_t kPorts = 9;
constexpr std::uint32_t kNodesOfUnit = 32;  // On the same leaves

enum class Kind : std::uint8_t {
  kHealthy,
  kFaulty,  // Every hundredth node has a fault on all ports
  kBusy,    // Healthy, with rising counters on all ports, and switches that announce themselves
};

const char* NameOf(Kind kind) {
  if (kind == Kind::kFaulty) return "1%_faulty";
  return kind == Kind::kBusy ? "busy" : "healthy";
}

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

fleet::NodeRecord BusyNode(v1::NodeSnapshot node, std::uint32_t number) {
  for (std::uint32_t rail = 0; rail < kPorts; ++rail)
    testing::Hear(node, rail, Format("leaf{}-{}", number / kNodesOfUnit, rail),
                  Format("swp{}", number % kNodesOfUnit));
  testing::Pair pair = testing::PairOf({std::move(node)});
  for (std::uint32_t rail = 0; rail < kPorts; ++rail) testing::Busy(pair, 0, rail);
  fleet::CounterRates rates = fleet::CounterRates::Between(pair.before[0], pair.after[0]);
  return {.name = pair.after[0].node().name(),
          .snapshot = std::move(pair.after[0]),
          .rates = std::move(rates)};
}

fleet::NodeRecord NodeOf(std::uint32_t number, Kind kind) {
  v1::NodeSnapshot node = testing::RoceNode({.number = number, .rails = kPorts});
  if (kind == Kind::kBusy) return BusyNode(std::move(node), number);
  if (kind == Kind::kFaulty && number % 100 == 0) Break(node, number);
  return {.name = node.node().name(), .snapshot = std::move(node)};
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
Records& FleetOf(std::uint32_t count, Kind kind) {
  static std::pair<std::uint32_t, Kind> made;
  static Records records;
  if (made == std::pair(count, kind)) return records;
  records.nodes.clear();
  const std::size_t before = Allocated();
  for (std::uint32_t number = 1; number <= count; ++number)
    records.nodes.push_back(NodeOf(number, kind));
  records.bytes = Allocated() - before;
  made = {count, kind};
  return records;
}

void View(benchmark::State& state) {
  const auto& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), Kind::kHealthy).nodes;
  for (auto _ : state) {
    const fleet::FleetView view(records);
    benchmark::DoNotOptimize(view.rails().size());
  }
}

void FromScratch(benchmark::State& state, Kind kind) {
  const Records& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), kind);
  v1::VerdictCounts counts;
  for (auto _ : state) {
    auto engine = std::make_unique<Engine>();
    for (const fleet::NodeRecord& record : records.nodes) engine->Put(record);
    counts = engine->Take().counts;
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
  if (kind != Kind::kFaulty && counts.fail() + counts.unknown() != 0)
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

// What a report tells that is not as before: odd rounds bring it, even ones take it back.
// kCounters: a window of counters has ended, the settings are as before.
enum class News : std::uint8_t { kNone, kMtu, kLinkDown, kCounters };

const char* NameOf(News news) {
  if (news == News::kCounters) return "of_counters_alone";
  if (news == News::kNone) return "without_news";
  return news == News::kMtu ? "breaks_and_mends_a_port" : "takes_a_link_down_and_up";
}

// Reports of one node after the other, each of which has changed.
void OneReport(benchmark::State& state, Kind kind, News news) {
  static std::map<std::pair<Kind, News>, double> of_small;  // In a small fleet
  auto& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), kind).nodes;
  Engine engine;
  for (fleet::NodeRecord& record : records) {
    record.version = news == News::kCounters ? 1 : 0;
    engine.Put(record);
  }
  (void)engine.Take();
  std::size_t at = 0;
  bool broken = false;
  v1::NodeSnapshot whole;
  std::vector<double> times;
  times.reserve(state.max_iterations);
  for (auto _ : state) {
    v1::NodeSnapshot& node = records[at].snapshot;
    v1::NodeSnapshot report = broken ? whole : node;
    if (news != News::kCounters)
      report.mutable_taken_at()->set_seconds(node.taken_at().seconds() + 1);
    broken = (news == News::kMtu || news == News::kLinkDown) && !broken;
    if (broken) whole = node;
    if (broken && news == News::kMtu) testing::SetMtu(report, 3, 1500);
    if (broken && news == News::kLinkDown) testing::LinkDown(report, 3);
    if (news != News::kCounters) node = report;  // As Fleet::Put does it
    const double start = CpuSeconds();
    engine.Put(records[at]);
    const Delta delta = engine.Take();
    times.push_back(CpuSeconds() - start);
    benchmark::DoNotOptimize(delta.counts.pass());
    state.SetIterationTime(times.back());
    if (broken) continue;
    at = (at + 379) % records.size();  // Not those whose neighbours are in the cache
    if (kind == Kind::kFaulty && news != News::kNone && (at + 1) % 100 == 0) ++at;
  }
  double mean = 0;
  for (const double time : times) mean += time / static_cast<double>(times.size());
  double& small = of_small[{kind, news}];
  if (small == 0) small = mean;
  state.SetLabel(
      Format("promised: under 100 us, at 16384 at most 1.25 of 1024; {:.2f} of it", mean / small));
  std::sort(times.begin(), times.end());
  state.counters["median_us"] = 1e6 * times[times.size() / 2];
  state.counters["p99_us"] = 1e6 * times[times.size() * 99 / 100];
}

// Bytes for each node, and what a round of reports from all of them adds.
void Memory(benchmark::State& state, Kind kind) {
  Records& records = FleetOf(static_cast<std::uint32_t>(state.range(0)), kind);
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
  for (const Kind kind : {Kind::kHealthy, Kind::kFaulty, Kind::kBusy}) {
    const auto name = [&](const char* what) { return Format("{}/{}", what, NameOf(kind)); };
    for (const std::int64_t size : kSizes) {
      RegisterBenchmark(name("from_scratch").c_str(), FromScratch, kind)
          ->Arg(size)
          ->Iterations(3)
          ->Unit(benchmark::kMillisecond);
      for (const News news : {News::kNone, News::kMtu, News::kLinkDown, News::kCounters}) {
        if (news == News::kCounters && kind != Kind::kBusy) continue;
        RegisterBenchmark(name(Format("report_{}", NameOf(news)).c_str()).c_str(), OneReport, kind,
                          news)
            ->Arg(size)
            ->Iterations(8000)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
      RegisterBenchmark(name("memory").c_str(), Memory, kind)
          ->Arg(size)
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
      if (kind == Kind::kHealthy)
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
