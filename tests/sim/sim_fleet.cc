// Plays scenarios of the simulated fleet. A failing run is printed as the command that plays it
// again.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/sim/fleet_scenario.h"

namespace fabric::sim {
namespace {

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
  Options options;
  std::vector<std::string> names;
  std::string doc = "Plays a simulated fleet through troubles and looks whether all holds.\n";
  for (const FleetScenario& scenario : FleetScenarios()) {
    names.emplace_back(scenario.name);
    doc += Format("\n  {:20} {}", scenario.name, scenario.doc);
  }
  CLI::App app(doc, "sim_fleet");
  app.add_option("--scenario", options.scenario, "One of them; all but the large ones without")
      ->check(CLI::IsMember(names));
  app.add_option("--seed", options.seed, "Of the first run")->capture_default_str();
  app.add_option("--runs", options.runs, "With seeds from there on")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  app.add_option("--nodes", options.nodes, "Instead of the scenario's own")
      ->check(CLI::Range(2U, 20'000U));
  app.add_option("--rails", options.rails, "Likewise")->check(CLI::Range(1U, 8U));
  app.add_flag("--show", options.show, "Print what happens");
  app.add_flag("--twice", options.twice, "Play each run twice: both must go the same way");
  CLI11_PARSE(app, argc, argv);
  return Run(options);
}

}  // namespace
}  // namespace fabric::sim

int main(int argc, char** argv) {
  return fabric::sim::Main(argc, argv);
}
