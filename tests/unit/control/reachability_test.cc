#include "daemon/control/campaigns/reachability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/testing/coverage.h"

namespace fabric::control {
namespace {

using plan::Pair;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `per_leaf`: ports under a leaf; 0: nobody knows.
plan::Plan PlanOf(std::uint32_t nodes, std::uint32_t rails = 1, std::uint32_t per_leaf = 0) {
  std::vector<plan::Port> ports;
  for (std::uint32_t rail = 0; rail < rails; ++rail) {
    for (std::uint32_t node = 1; node <= nodes; ++node) {
      plan::Port& port = ports.emplace_back();
      port.port.set_node(Format("n{}", node));
      port.port.set_device(Format("mlx5_{}", rail));
      port.port.set_port(1);
      port.port.set_rail(rail);
      if (per_leaf > 0) port.leaf = (node - 1) / per_leaf;
    }
  }
  auto plan = plan::MakePlan(std::move(ports), {}, {});
  EXPECT_TRUE(plan.ok());
  return *std::move(plan);
}

v1::ProbeResult ProbeResultOf(v1::ProbeStatus status, const std::string& blamed = "") {
  v1::ProbeResult result;
  result.set_status(status);
  if (status != v1::PROBE_STATUS_OK) result.set_reason("no completion");
  result.set_blamed_node(blamed);
  return result;
}

struct Passed {
  int stages = 0;
  int probes = 0;
  std::set<std::string> out;  // Ports
};

// Lets the pass run to its end over a fabric that answers as `probe` says.
Passed RunPass(const plan::Plan& plan, std::uint64_t seed,
               const std::function<v1::ProbeResult(const plan::PairTask&)>& probe) {
  Reachability pass(plan, seed);
  Passed passed;
  for (std::vector<Pair> stage; !(stage = pass.NextStage()).empty();) {
    ++passed.stages;
    std::set<plan::PortIndex> busy;
    for (const Pair& pair : stage) {
      EXPECT_TRUE(busy.insert(pair.from).second && busy.insert(pair.to).second);
      if (!pass.IsUseful(pair)) continue;
      ++passed.probes;
      pass.Take(pair, probe(plan.Task(pair)));
    }
  }
  for (plan::PortIndex port = 0; port < plan.ports.size(); ++port)
    if (pass.IsOut(port)) passed.out.insert(plan::PortName(plan.ports[port].port));
  return passed;
}

bool Concerns(const plan::PairTask& task, const std::string& node) {
  return task.from.node() == node || task.to.node() == node;
}

TEST(Reachability, AsksEachPortOnceWhereAllIsWell) {
  for (const std::uint32_t nodes : {2U, 5U, 64U, 129U}) {
    const plan::Plan plan = PlanOf(nodes, 2);
    const Passed passed =
        RunPass(plan, 1, [](const auto&) { return ProbeResultOf(v1::PROBE_STATUS_OK); });
    EXPECT_LE(passed.stages, 2);
    EXPECT_LE(passed.probes, static_cast<int>(nodes + 2)) << "one for two, and the odd one";
    EXPECT_THAT(passed.out, IsEmpty());
  }
}

TEST(Reachability, CondemnsAPortAfterThreeGoodPartnersAndNobodyElse) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const plan::Plan plan = PlanOf(32);
    const Passed passed = RunPass(plan, seed, [](const auto& task) {
      return ProbeResultOf(Concerns(task, "n7") || Concerns(task, "n8") ? v1::PROBE_STATUS_FAILED
                                                                        : v1::PROBE_STATUS_OK);
    });
    EXPECT_THAT(passed.out, ElementsAre("n7/mlx5_0/1", "n8/mlx5_0/1")) << "seed " << seed;
    EXPECT_LE(passed.stages, 5);
    EXPECT_LE(passed.probes, 16 + 4 + 2 + 2);
  }
}

// Three partners may all be behind the one path of the leaf that is dead.
TEST(Reachability, LeavesNobodyOutWhoReachesItsLeaf) {
  const plan::Plan plan = PlanOf(9, 1, 3);
  const auto leaf = [](const v1::ProbePort& port) {
    return (std::stoi(port.node().substr(1)) - 1) / 3;
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Passed passed = RunPass(plan, seed, [&](const plan::PairTask& task) {
      const bool across = leaf(task.from) != leaf(task.to);
      const bool first = leaf(task.from) == 0 || leaf(task.to) == 0;
      return ProbeResultOf(across && first ? v1::PROBE_STATUS_FAILED : v1::PROBE_STATUS_OK);
    });
    EXPECT_THAT(passed.out, IsEmpty()) << "seed " << seed;
  }
}

TEST(Reachability, SaysWithWhomAndWhy) {
  const plan::Plan plan = PlanOf(8);
  Reachability pass(plan, 3);
  for (std::vector<Pair> stage; !(stage = pass.NextStage()).empty();)
    for (const Pair& pair : stage)
      pass.Take(pair, ProbeResultOf(Concerns(plan.Task(pair), "n7") ? v1::PROBE_STATUS_TIMED_OUT
                                                                    : v1::PROBE_STATUS_OK));
  const auto result = pass.LeftOut(6);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status(), v1::PROBE_STATUS_TIMED_OUT);
  EXPECT_EQ(result->blamed_node(), "n7");
  EXPECT_THAT(result->reason(), HasSubstr("n7/mlx5_0/1: left out: reaches none of n"));
  EXPECT_THAT(result->reason(), HasSubstr(": no completion"));
  EXPECT_THAT(testing::Texts(pass.LeftOut()), ElementsAre(result->reason()));
  EXPECT_FALSE(pass.LeftOut(0));
}

TEST(Reachability, AnAgentThatDoesNothingIsOutWithAllItsPorts) {
  const plan::Plan plan = PlanOf(16, 8);
  const Passed passed = RunPass(plan, 5, [](const auto& task) {
    return Concerns(task, "n3") ? ProbeResultOf(v1::PROBE_STATUS_TIMED_OUT, "n3")
                                : ProbeResultOf(v1::PROBE_STATUS_OK);
  });
  EXPECT_EQ(passed.out.size(), 8u);
  EXPECT_TRUE(passed.out.contains("n3/mlx5_7/1"));
  // Its partners had to be asked again, and the stage was on its way already.
  EXPECT_LE(passed.probes, 64 + 8);
}

TEST(Reachability, ALostNodeIsOutAtOnce) {
  const plan::Plan plan = PlanOf(16, 8);
  const Passed passed = RunPass(plan, 5, [](const auto& task) {
    return Concerns(task, "n3") ? ProbeResultOf(v1::PROBE_STATUS_UNREACHABLE, "n3")
                                : ProbeResultOf(v1::PROBE_STATUS_OK);
  });
  EXPECT_EQ(passed.out.size(), 8u);
}

TEST(Reachability, WhatSaysNoIsNotDead) {
  const plan::Plan plan = PlanOf(16);
  for (const v1::ProbeStatus status : {v1::PROBE_STATUS_REFUSED, v1::PROBE_STATUS_SETUP_FAILED}) {
    const Passed passed = RunPass(plan, 5, [&](const auto& task) {
      return Concerns(task, "n3") ? ProbeResultOf(status, "n3")
                                  : ProbeResultOf(v1::PROBE_STATUS_OK);
    });
    EXPECT_THAT(passed.out, IsEmpty());
  }
}

TEST(Reachability, APairThatDoesNotGetOnTogetherTakesPart) {
  const plan::Plan plan = PlanOf(8);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Passed passed = RunPass(plan, seed, [](const auto& task) {
      const bool both = Concerns(task, "n1") && Concerns(task, "n2");
      return ProbeResultOf(both ? v1::PROBE_STATUS_FAILED : v1::PROBE_STATUS_OK);
    });
    EXPECT_THAT(passed.out, IsEmpty()) << "seed " << seed;
  }
}

TEST(Reachability, WhereNothingReachesAnythingItEnds) {
  const plan::Plan plan = PlanOf(64);
  const Passed passed =
      RunPass(plan, 5, [](const auto&) { return ProbeResultOf(v1::PROBE_STATUS_FAILED); });
  EXPECT_LE(passed.stages, 5);
  EXPECT_GE(passed.out.size(), 60u) << "each has failed with three others";
}

TEST(Reachability, QuickProbesHaveTheSettingsOfTheRealOnes) {
  v1::ProbeSpec spec;
  spec.mutable_path_mtu();
  spec.set_timeout_ms(30'000);
  spec.set_traffic_class(104);
  spec.mutable_queue_pair()->set_gid_index(5);
  v1::ProbeSpec quick = Reachability::QuickProbe(spec);
  EXPECT_TRUE(quick.has_rc_write_latency());
  EXPECT_EQ(quick.timeout_ms(), 2'000u);
  EXPECT_EQ(quick.traffic_class(), 104u);
  EXPECT_EQ(quick.queue_pair().gid_index(), 5u);
  spec.set_timeout_ms(500);
  EXPECT_EQ(Reachability::QuickProbe(spec).timeout_ms(), 500u);
}

}  // namespace
}  // namespace fabric::control
