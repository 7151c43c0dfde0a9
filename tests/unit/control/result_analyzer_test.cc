// What a campaign keeps for blame.
#include "daemon/control/campaigns/result_analyzer.h"

#include <gtest/gtest.h>

namespace fabric::control {
namespace {

v1::PairResult Ok(std::uint32_t round, const char* from, const char* to) {
  v1::PairResult result;
  result.set_round(round);
  result.mutable_from()->set_node(from);
  result.mutable_to()->set_node(to);
  result.mutable_result()->set_status(v1::PROBE_STATUS_OK);
  return result;
}

// A campaign of all pairs of a large fleet has millions of results.
TEST(ResultAnalyzer, KeepsTheNewestObservationsAlone) {
  ResultAnalyzer analyzer(
      blame::Fabric{.endpoints = {{.node = "n1"}, {.node = "n2"}, {.node = "n3"}}});
  for (std::uint32_t round = 1; round <= 160; ++round) {
    for (int n = 0; n < 1000; ++n) analyzer.Add(Ok(round, "n1", n % 2 == 0 ? "n2" : "n3"));
    analyzer.EndRound();
  }
  EXPECT_EQ(analyzer.Assess({}, {}, {}).report.observations(), 109'000U)
      << "100,000 of the first 151,000";
  analyzer.Add(Ok(161, "n1", "n2"));
  EXPECT_EQ(analyzer.Assess({}, {}, {}).report.observations(), 109'001U);
  EXPECT_EQ(analyzer.Assess({}, {}, {}).report.observations(), 109'001U) << "counted once";
}

}  // namespace
}  // namespace fabric::control
