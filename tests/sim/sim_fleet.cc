// Plays scenarios of the simulated fleet. A failing run is printed as the command that plays it
// again.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/suggest.h"
#include "base/text.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

constexpr Option kOptions[] = {
    {.name = "scenario", .doc = "Run only this scenario. Default: all but the large ones."},
    {.name = "seed",
     .type = OptionType::kNumber64,
     .fallback = "1",
     .doc = "Seed of the first run."},
    {.name = "runs",
     .type = OptionType::kNumber,
     .fallback = "1",
     .min = "1",
     .max = "1000000",
     .doc = "Number of runs, with consecutive seeds."},
    {.name = "nodes",
     .type = OptionType::kNumber,
     .min = "2",
     .max = "20000",
     .doc = "Number of nodes. Default: by scenario."},
    {.name = "rails",
     .type = OptionType::kNumber,
     .min = "1",
     .max = "8",
     .doc = "Number of rails. Default: by scenario."},
    {.name = "show", .type = OptionType::kBool, .doc = "Print the events of each run."},
    {.name = "twice", .type = OptionType::kBool, .doc = "Run twice and compare the traces."},
};

struct Options {
  std::string scenario;
  std::uint64_t seed = 1;
  std::uint32_t runs = 1;
  std::uint32_t nodes = 0;
  std::uint32_t rails = 0;
  bool show = false;
  bool twice = false;
};

void Print(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// False: something did not hold.
bool PlayOne(const FleetScenario& scenario, const Options& options, std::uint64_t seed) {
  const FleetRun run{
      .seed = seed, .nodes = options.nodes, .rails = options.rails, .show = options.show};
  const auto begun = std::chrono::steady_clock::now();
  Report report = Play(scenario, run);
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (options.twice && Play(scenario, run).trace != report.trace)
    report.violations.push_back("played twice, it went two ways");
  Print(Format("{:20} seed {:6} {:7.2f} s  trace {:016x}  {}", scenario.name, seed, took,
               report.trace, report.violations.empty() ? "holds" : "DOES NOT HOLD"));
  if (report.violations.empty() && options.runs > 1) return true;
  for (const std::string& figure : report.figures) Print("  " + figure);
  for (const std::string& violation : report.violations) Print("  violated: " + violation);
  if (report.violations.empty()) return true;
  std::string again = Format("  again: sim_fleet --scenario {} --seed {}", scenario.name, seed);
  if (options.nodes > 0) again += Format(" --nodes {}", options.nodes);
  if (options.rails > 0) again += Format(" --rails {}", options.rails);
  Print(again + " --show");
  return false;
}

int Run(const Options& options) {
  std::uint32_t played = 0;
  std::uint32_t failed = 0;
  for (const FleetScenario& scenario : FleetScenarios()) {
    if (options.scenario.empty() ? scenario.large : options.scenario != scenario.name) continue;
    for (std::uint32_t run = 0; run < options.runs; ++run, ++played)
      failed += PlayOne(scenario, options, options.seed + run) ? 0 : 1;
  }
  Print(Format("{} runs, {} in which something did not hold", played, failed));
  return failed == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  const auto values = Settings::Load(kOptions, {argv + 1, argv + argc});
  if (!values.ok()) {
    Print("sim_fleet: " + values.status().message());
    return 2;
  }
  std::vector<std::string_view> names;
  std::string scenarios = "\nScenarios:\n";
  for (const FleetScenario& scenario : FleetScenarios()) {
    names.push_back(scenario.name);
    scenarios += Format("  {:20} {}\n", scenario.name, scenario.doc);
  }
  if (values->request() != Request::kRun) {
    Print(SettingsHelp("sim_fleet", "Runs scenarios of a simulated fleet and checks invariants.",
                       kOptions) +
          scenarios);
    return 0;
  }
  const Options options{.scenario = values->Text("scenario"),
                        .seed = values->Number64("seed"),
                        .runs = values->Number("runs"),
                        .nodes = values->Number("nodes"),
                        .rails = values->Number("rails"),
                        .show = values->Bool("show"),
                        .twice = values->Bool("twice")};
  if (values->Has("scenario") &&
      std::find(names.begin(), names.end(), options.scenario) == names.end()) {
    Print("sim_fleet: " + UnknownName("scenario", options.scenario, names));
    return 2;
  }
  return Run(options);
}

}  // namespace
}  // namespace fabric::sim

int main(int argc, char** argv) {
  return fabric::sim::Main(argc, argv);
}
