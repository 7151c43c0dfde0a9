// Prints precision, recall and rounds of blame over seeded scenarios of each kind of fault. A run
// is its shape, kind and seed: --show prints one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/text.h"
#include "tests/sim/blame_scenario.h"

namespace fabric::sim {
namespace {

const Shape kShapes[] = {
    {.name = "64x2", .nodes = 64, .rails = 2, .ports_per_leaf = 16, .spines = 4},
    {.name = "96x1", .nodes = 96, .rails = 1, .ports_per_leaf = 16, .spines = 16},
    {.name = "32x4", .nodes = 32, .rails = 4, .ports_per_leaf = 8, .spines = 8},
    {.name = "48x2-unknown", .nodes = 48, .rails = 2, .ports_per_leaf = 16, .lldp = false},
    {.name = "32x8", .nodes = 32, .rails = 8, .ports_per_leaf = 8, .spines = 4},
    {.name = "9x2", .nodes = 9, .rails = 2, .ports_per_leaf = 3, .spines = 4},
    {.name = "128x4", .nodes = 128, .rails = 4, .ports_per_leaf = 32, .spines = 8},
    {.name = "1024x1", .nodes = 1024, .rails = 1, .ports_per_leaf = 32, .spines = 16},
    {.name = "1024x8", .nodes = 1024, .rails = 8, .ports_per_leaf = 32, .spines = 16},
};
constexpr std::size_t kMixed = 4;  // So many of them take turns when none is chosen.

constexpr Option kOptions[] = {
    {.name = "kind", .doc = "Run only this kind of fault."},
    {.name = "shape", .doc = "Run only on this fabric, such as 1024x1."},
    {.name = "seed", .type = OptionType::kNumber64, .fallback = "1", .doc = "First seed."},
    {.name = "scenarios",
     .type = OptionType::kNumber,
     .fallback = "1000",
     .doc = "Scenarios of each kind."},
    {.name = "rounds",
     .type = OptionType::kNumber,
     .fallback = "20",
     .doc = "Maximum number of rounds."},
    {.name = "show", .type = OptionType::kBool, .doc = "Print each scenario."},
};

struct Options {
  std::string kind;
  std::string shape;
  std::uint64_t first_seed = 1;
  std::uint32_t scenarios = 1000;
  std::uint32_t rounds = 20;
  bool show = false;
  std::uint32_t explain = 3;  // Maximum number of failed scenarios to print
};

struct Totals {
  std::uint32_t runs = 0;
  std::uint32_t accused = 0;  // Runs with a wrong name
  std::uint32_t undecided = 0;
  Outcome sum;
  std::vector<std::uint32_t> rounds;
  std::vector<std::uint32_t> named_at;
  double confidence = 1;
  double stand_max_s = 0;
};

void Add(const Outcome& outcome, Totals& totals) {
  ++totals.runs;
  totals.accused += outcome.suspects > outcome.right ? 1 : 0;
  totals.undecided += outcome.decided ? 0 : 1;
  totals.sum.faults += outcome.faults;
  totals.sum.named += outcome.named;
  totals.sum.in_a_group += outcome.in_a_group;
  totals.sum.suspects += outcome.suspects;
  totals.sum.right += outcome.right;
  totals.rounds.push_back(outcome.rounds);
  if (outcome.named_at > 0) totals.named_at.push_back(outcome.named_at);
  totals.stand_max_s = std::max(totals.stand_max_s, outcome.stand_max_s);
  totals.confidence = std::min(totals.confidence, outcome.least_confidence);
}

std::string Part(std::uint32_t part, std::uint32_t whole) {
  return whole == 0 ? std::string("-") : Format("{:.4f}", static_cast<double>(part) / whole);
}

std::uint32_t Quantile(std::vector<std::uint32_t> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void Print(std::string_view kind, const Totals& totals, double seconds) {
  const auto quantiles = [](const std::vector<std::uint32_t>& values) {
    return Format("{:3} {:3} {:3}", Quantile(values, 0.5), Quantile(values, 0.95),
                  Quantile(values, 1));
  };
  const Outcome& sum = totals.sum;
  const std::string line =
      Format("{:26} {:5}  {:6}  {:6}  {:6}  {:5} {:5}  {}  {}  {:5}  {:.3f}  {:6.3f}  {:6.1f}\n",
             kind, totals.runs, Part(sum.right, sum.suspects), Part(sum.named, sum.faults),
             Part(sum.named + sum.in_a_group, sum.faults), totals.accused, sum.suspects - sum.right,
             quantiles(totals.named_at), quantiles(totals.rounds), totals.undecided,
             totals.confidence, totals.stand_max_s, seconds);
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
}

bool Fits(const Kind& kind, const Shape& shape) {
  return !(kind.several_rails && shape.rails < 2) && !(kind.needs_leaves && !shape.lldp);
}

bool PlayKind(const Kind& kind, const std::vector<Stage>& stages, const Options& options,
              Reliability& reliability) {
  std::vector<const Stage*> fitting;
  for (const Stage& stage : stages)
    if (Fits(kind, stage.shape())) fitting.push_back(&stage);
  if (fitting.empty()) return true;
  Totals totals;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint32_t i = 0; i < options.scenarios; ++i) {
    const std::uint64_t seed = options.first_seed + i;
    const Stage& stage = *fitting[seed % fitting.size()];
    const Outcome outcome = Play(stage, kind, {.seed = seed, .rounds_max = options.rounds});
    Add(outcome, totals);
    reliability.Add(outcome.accusations);
    const bool wrong = outcome.suspects > outcome.right || outcome.named < outcome.faults;
    if (options.show ||
        (wrong && totals.accused + totals.sum.faults - totals.sum.named <= options.explain))
      std::fprintf(stderr, "%s %s seed %llu, %u rounds\n%s", stage.shape().name.c_str(),
                   std::string(kind.name).c_str(), static_cast<unsigned long long>(seed),
                   outcome.rounds, outcome.text.c_str());
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  Print(kind.name, totals, took.count());
  const double right = totals.sum.right;
  return right >= 0.99 * totals.sum.suspects &&
         (kind.may_stay_open || totals.sum.named >= 0.98 * totals.sum.faults);
}

int Main(int argc, char** argv) {
  const auto values = Settings::Load(kOptions, {argv + 1, argv + argc});
  if (!values.ok()) {
    std::fprintf(stderr, "sim_blame: %s\n", values.status().message().c_str());
    return 2;
  }
  if (values->request() != Request::kRun) {
    std::fputs(SettingsHelp("sim_blame", "Runs blame over simulated fabrics.", kOptions).c_str(),
               stdout);
    return 0;
  }
  const Options options{.kind = values->Text("kind"),
                        .shape = values->Text("shape"),
                        .first_seed = values->Number64("seed"),
                        .scenarios = values->Number("scenarios"),
                        .rounds = values->Number("rounds"),
                        .show = values->Bool("show")};
  std::vector<Stage> stages;
  for (std::size_t i = 0; i < std::size(kShapes); ++i)
    if (options.shape.empty() ? i < kMixed : kShapes[i].name == options.shape)
      stages.emplace_back(kShapes[i]);
  std::printf("%-26s %5s  %-6s  %-6s  %-6s  %5s %5s  %-11s  %-11s  %5s  %-5s  %6s  %6s\n", "kind",
              "runs", "precis", "recall", "+group", "acc", "wrong", "named 50 95", "ended 50 95",
              "open", "conf", "judge", "s");
  bool kept = true;
  Reliability reliability;
  for (const Kind& kind : Kinds())
    if (options.kind.empty() || kind.name == options.kind)
      kept = PlayKind(kind, stages, options, reliability) && kept;
  std::fputs(reliability.Text().c_str(), stdout);
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace fabric::sim

int main(int argc, char** argv) {
  return fabric::sim::Main(argc, argv);
}
