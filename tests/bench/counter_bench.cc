// counter_bench TREE: what a second of counters costs, beside the least that it can cost, in one
// run. Prints one JSON object; tests/bench/agent_cost makes the tree and judges.
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "agents/counters/sampler.h"
#include "agents/host/machine.h"
#include "agents/inspect/inspector.h"
#include "base/text.h"

namespace fabric {
namespace {

constexpr int kRounds = 40;
constexpr int kTicksOfRound = 100;
constexpr int kInspections = 50;

double CpuSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double Cpu(const std::function<void()>& work) {
  const double begin = CpuSeconds();
  work();
  return CpuSeconds() - begin;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The files of the sampled counters, open; closed with the process.
std::vector<int> OpenFiles(const std::string& root, const counters::CounterSets& sets) {
  std::vector<int> files;
  for (const v1::CounterSet& set : sets)
    for (const v1::Counter& counter : set.counters()) {
      const std::string path = Format(
          "{}/sys/class/infiniband/{}/ports/{}/{}/{}", root, set.device(), set.port(),
          counter.source() == v1::COUNTER_SOURCE_PORT ? "counters" : "hw_counters", counter.name());
      const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd >= 0) files.push_back(fd);
    }
  return files;
}

std::uint64_t ReadAll(const std::vector<int>& files) {
  std::uint64_t bytes = 0;
  std::array<char, 64> buffer;
  for (const int fd : files)
    bytes += static_cast<std::uint64_t>(::pread(fd, buffer.data(), buffer.size(), 0));
  return bytes;
}

int Run(const std::string& root) {
  auto machine = host::Machine::Open(root);
  if (!machine.ok()) {
    std::fputs((machine.status().message() + "\n").c_str(), stderr);
    return 1;
  }
  v1::NodeSnapshot node;
  std::vector<double> inspections;
  for (int i = 0; i < kInspections; ++i)
    inspections.push_back(
        Cpu([&] { node = inspect::Inspect(machine->host(), {.node_name = "n1", .now = {}}); }));

  counters::Progress progress;
  counters::Sampler sampler(machine->host(), progress);
  sampler.Plan(node.counters());
  const std::vector<int> files = OpenFiles(root, sampler.table());
  std::uint64_t bytes = 0;
  const auto tick = [&] {
    for (int i = 0; i < kTicksOfRound; ++i) sampler.Tick();
  };
  const auto bare = [&] {
    for (int i = 0; i < kTicksOfRound; ++i) bytes += ReadAll(files);
  };
  std::vector<double> ticks;
  std::vector<double> floors;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const bool tick_first = round % 2 == 0;
    if (tick_first) ticks.push_back(Cpu(tick));
    floors.push_back(Cpu(bare));
    if (!tick_first) ticks.push_back(Cpu(tick));
    ratios.push_back(ticks.back() / floors.back());
  }
  const auto lost = std::count_if(sampler.values().begin(), sampler.values().end(),
                                  [](const counters::Value& value) { return value.lost; });
  std::puts(Format("{{\"counters\": {}, \"lost\": {}, \"files\": {}, \"bytes\": {}, "
                   "\"tick_us\": {:.1f}, \"pread_us\": {:.1f}, \"ratio\": {:.3f}, "
                   "\"inspection_ms\": {:.2f}, \"inspection_max_ms\": {:.2f}}}",
                   sampler.values().size(), lost, files.size(), bytes,
                   Median(ticks) / kTicksOfRound * 1e6, Median(floors) / kTicksOfRound * 1e6,
                   Median(ratios), Median(inspections) * 1e3,
                   *std::max_element(inspections.begin(), inspections.end()) * 1e3)
                .c_str());
  return 0;
}

}  // namespace
}  // namespace fabric

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: counter_bench TREE\n", stderr);
    return 2;
  }
  return fabric::Run(argv[1]);
}
