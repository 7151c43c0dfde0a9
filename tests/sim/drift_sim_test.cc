// Drift over simulated runs of a schedule: a port that becomes slower is found, noise is not.
#include "daemon/control/schedules/drift.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/control/probing/located_faults.h"
#include "tests/sim/clos.h"

namespace fabric::sim {
namespace {

constexpr std::uint32_t kNodes = 8;

v1::ProbePort DriftPort(std::uint32_t node) {
  v1::ProbePort port;
  port.set_node(Format("n{}", node + 1));
  port.set_device("mlx5_0");
  port.set_port(1);
  return port;
}

// One run: all pairs of the rail.
control::RunFigures PlayRun(Clos& clos, std::uint32_t run) {
  control::RunFigures figures;
  google::protobuf::RepeatedPtrField<v1::PairResult> results;
  for (std::uint32_t from = 0; from < kNodes; ++from)
    for (std::uint32_t to = from + 1; to < kNodes; ++to)
      clos.Probe(DriftPort(from), DriftPort(to), run * kNodes + (from + to) % kNodes, results);
  for (const v1::PairResult& result : results) figures.Take(result);
  return figures;
}

// The suspects of each run.
std::vector<std::vector<v1::Suspect>> PlayRuns(Clos& clos, std::uint32_t runs,
                                               std::uint32_t slow_from) {
  std::vector<std::vector<v1::Suspect>> found;
  v1::ScheduleRecord record;
  for (std::uint32_t run = 1; run <= runs; ++run) {
    if (run == slow_from) clos.Add({.port = {2, 0}, .speed = 0.8});
    const control::RunFigures figures = PlayRun(clos, run);
    found.push_back(control::Drifts(figures, record));
    control::AddRun(figures, found.back(), record);
  }
  return found;
}

Shape DriftShape() {
  return {.name = "8x1", .nodes = kNodes, .rails = 1, .ports_per_leaf = 4, .spines = 2};
}

TEST(DriftSim, FindsThePortThatBecomesAFifthSlowerInRunEight) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Clos clos(DriftShape(), seed);
    const auto found = PlayRuns(clos, 10, 8);
    for (std::size_t run = 0; run < 7; ++run) EXPECT_TRUE(found[run].empty()) << "seed " << seed;
    for (std::size_t run = 7; run < 10; ++run) {
      ASSERT_EQ(found[run].size(), 1U) << "seed " << seed << " run " << run + 1;
      const v1::Suspect& suspect = found[run].front();
      EXPECT_EQ(suspect.name(), "n3/mlx5_0/1");
      EXPECT_EQ(suspect.fault(), v1::FAULT_KIND_LOW_BANDWIDTH);
      EXPECT_NEAR(suspect.severity(), 0.2, 0.05);
      EXPECT_NE(suspect.expected().find("(median of 7 runs)"), std::string::npos)
          << suspect.expected();
    }
  }
}

TEST(DriftSim, GivesNoAlarmForHealthyFleetsNoisyOrNot) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Clos clos(DriftShape(), seed);
    if (seed % 2 == 0) clos.noise.scatter = 0.02 * static_cast<double>(seed % 12);
    if (seed % 4 == 0) clos.noise.host_load = 0.2;
    std::uint32_t run = 0;
    for (const auto& suspects : PlayRuns(clos, 16, 0)) {
      ++run;
      for (const v1::Suspect& suspect : suspects)
        ADD_FAILURE() << "seed " << seed << " run " << run << ": " << suspect.ShortDebugString();
    }
  }
}

}  // namespace
}  // namespace fabric::sim
