// One fault of each kind in, its name out and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "tests/testing/coverage.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame::testing {
namespace {

using Bad = std::function<bool(const Observation&)>;
using Change = std::function<void(Observation&)>;

constexpr Layout kJudgeLayout;

std::uint32_t NodeOf(std::uint32_t endpoint) {
  return endpoint / kJudgeLayout.rails;
}
std::uint32_t RailOf(std::uint32_t endpoint) {
  return endpoint % kJudgeLayout.rails;
}
std::uint32_t LeafOf(std::uint32_t endpoint) {
  return RailOf(endpoint) * 100 + NodeOf(endpoint) / kJudgeLayout.per_leaf;
}
bool Across(const Observation& seen) {
  return LeafOf(seen.from) != LeafOf(seen.to);
}
bool TouchesLeaf(const Observation& seen, std::uint32_t leaf) {
  return LeafOf(seen.from) == leaf || LeafOf(seen.to) == leaf;
}
// As a switch would: one path in four, by ends and flow label.
bool OnPath(const Observation& seen, std::uint32_t path) {
  return (seen.from * 31 + seen.to * 17 + seen.flow_label * 7 + seen.from * seen.to) % 4 == path;
}
Change Losing(double component) {
  return [component](Observation& seen) { Lose(seen, component); };
}
void HalfSpeed(Observation& seen) {
  if (seen.speed) seen.speed = 0.5F;
}

struct Case {
  const char* name;
  Bad bad;
  Change change;
  const char* expected;
};

const Case kCases[] = {
    {"nothing", [](const auto&) { return false; }, Dead, ""},
    {"a dead port", [](const auto& seen) { return Touches(seen, 6); }, Dead,
     "PORT n13/mlx5_0/1 TOTAL_LOSS"},
    {"a port that loses 1 in 1,000", [](const auto& seen) { return Touches(seen, 6); },
     Losing(0.001), "PORT n13/mlx5_0/1 PACKET_LOSS"},
    {"a link at half rate", [](const auto& seen) { return Touches(seen, 6); }, HalfSpeed,
     "PORT n13/mlx5_0/1 LOW_BANDWIDTH"},
    {"a port that is slow in what it sends", [](const auto& seen) { return seen.from == 6; },
     HalfSpeed, "PORT n13/mlx5_0/1 OUT LOW_BANDWIDTH"},
    {"a port that is slow in what it receives", [](const auto& seen) { return seen.to == 6; },
     HalfSpeed, "PORT n13/mlx5_0/1 IN LOW_BANDWIDTH"},
    {"a port that loses what it sends",
     [](const auto& seen) { return seen.from == 6 || (seen.attempts > 0 && seen.to == 6); },
     [](Observation& seen) {
       Lose(seen, 0.02);
       HalfSpeed(seen);
     },
     "PORT n13/mlx5_0/1 OUT PACKET_LOSS"},
    {"a port that is there every second round",
     [](const auto& seen) { return Touches(seen, 6) && seen.round % 2 == 0; }, Dead,
     "PORT n13/mlx5_0/1 TOTAL_LOSS"},
    {"a dead node", [](const auto& seen) { return NodeOf(seen.from) == 3 || NodeOf(seen.to) == 3; },
     Dead, "HOST n13 TOTAL_LOSS"},
    {"a late node", [](const auto& seen) { return NodeOf(seen.from) == 3 || NodeOf(seen.to) == 3; },
     [](Observation& seen) {
       if (seen.latency) seen.latency = 5.0F;
     },
     "HOST n13 HIGH_LATENCY"},
    {"a dead leaf", [](const auto& seen) { return TouchesLeaf(seen, 101); }, Dead,
     "LEAF leaf-1-1 TOTAL_LOSS"},
    {"a lossy leaf", [](const auto& seen) { return TouchesLeaf(seen, 101); }, Losing(0.01),
     "LEAF leaf-1-1 PACKET_LOSS"},
    {"a leaf without ways out",
     [](const auto& seen) { return Across(seen) && TouchesLeaf(seen, 101); }, Dead,
     "UPLINK leaf-1-1 uplinks TOTAL_LOSS"},
    {"a pair of leaves",
     [](const auto& seen) { return TouchesLeaf(seen, 101) && TouchesLeaf(seen, 102); }, Dead,
     "LEAF_PAIR leaf-1-1 and leaf-1-2 TOTAL_LOSS"},
    {"a slow rail", [](const auto& seen) { return RailOf(seen.from) == 1; }, HalfSpeed,
     "RAIL rail 1 LOW_BANDWIDTH"},
    {"all of it", [](const auto&) { return true; }, Losing(0.01), "FABRIC the fabric PACKET_LOSS"},
    {"two ports and a node",
     [](const auto& seen) {
       return Touches(seen, 6) || Touches(seen, 11) || NodeOf(seen.from) == 9 ||
              NodeOf(seen.to) == 9;
     },
     Dead, "HOST n19 TOTAL_LOSS; PORT n13/mlx5_0/1 TOTAL_LOSS; PORT n15/mlx5_1/1 TOTAL_LOSS"},
    {"losses here and there", [](const auto& seen) { return (seen.from * 7 + seen.to) % 23 == 0; },
     [](Observation& seen) { seen.failures = seen.flow_label == 3 ? 1 : 0; }, ""},
    {"a node that paused for a round",
     [](const auto& seen) {
       return seen.round == 4 && (NodeOf(seen.from) == 3 || NodeOf(seen.to) == 3);
     },
     Dead, ""},
};

TEST(Judge, NamesEachKindOfFault) {
  const Fabric fabric = FabricOf(kJudgeLayout);
  for (const Case& one : kCases) {
    const v1::BlameReport report = Judge(fabric, With(Healthy(kJudgeLayout), one.bad, one.change));
    EXPECT_EQ(Text(report), one.expected) << one.name;
    const bool healthy = std::string_view(one.expected).empty();
    EXPECT_EQ(report.state(), healthy ? v1::BLAME_STATE_HEALTHY : v1::BLAME_STATE_DECIDED)
        << one.name;
    for (const v1::Suspect& suspect : report.suspects()) {
      EXPECT_GE(suspect.confidence(), 0.95) << one.name;
      EXPECT_FALSE(suspect.evidence().empty()) << one.name;
    }
  }
}

TEST(Judge, SaysWhatFailedWithTheFaultyPortAndWhatItsPartnersDoElsewhere) {
  const Fabric fabric = FabricOf(kJudgeLayout);
  const std::map<std::string, std::string> expected = {
      {"PORT n13/mlx5_0/1 LOW_BANDWIDTH", " had low bandwidth; "},
      {"PORT n13/mlx5_0/1 OUT PACKET_LOSS", " lost packets; "},
      {"PORT n13/mlx5_0/1 TOTAL_LOSS", " failed; "},
      {"HOST n13 HIGH_LATENCY", " had high latency; "}};
  std::set<std::string> seen;
  for (const Case& one : kCases) {
    const auto row = expected.find(one.expected);
    if (row == expected.end()) continue;
    seen.insert(row->first);
    const auto report = Judge(fabric, With(Healthy(kJudgeLayout), one.bad, one.change));
    ASSERT_EQ(report.suspects_size(), 1) << one.name;
    EXPECT_THAT(report.suspects(0).evidence(),
                ::testing::Contains(
                    ::testing::MatchesRegex("probes with [0-9]+ of [0-9]+ partners" + row->second +
                                            "these partners work with other ports")))
        << one.name;
  }
  EXPECT_EQ(seen.size(), expected.size());
}

// Pings whose responder counts tell the way by themselves.
TEST(Judge, NamesTheDirectionOfALossThatPingsTell) {
  for (const bool out : {true, false}) {
    std::vector<Observation> seen;
    for (Observation one : Healthy(kJudgeLayout)) {
      if (one.attempts == 0) continue;
      one.one_way = true;
      Observation back = one;
      std::swap(back.from, back.to);
      for (Observation* const direction : {&one, &back})
        if ((out ? direction->from : direction->to) == 6) Lose(*direction, 0.01);
      seen.push_back(one);
      seen.push_back(back);
    }
    EXPECT_EQ(Text(Judge(FabricOf(kJudgeLayout), seen)),
              out ? "PORT n13/mlx5_0/1 OUT PACKET_LOSS" : "PORT n13/mlx5_0/1 IN PACKET_LOSS");
  }
}

TEST(Judge, NamesAPathOfALeafByItsFlows) {
  const auto report = Judge(
      FabricOf(kJudgeLayout),
      With(
          Healthy(kJudgeLayout),
          [](const auto& seen) { return Across(seen) && OnPath(seen, 2) && TouchesLeaf(seen, 1); },
          Losing(0.3)));
  ASSERT_EQ(report.suspects_size(), 1) << Text(report);
  EXPECT_EQ(report.suspects(0).kind(), v1::SUSPECT_KIND_UPLINK);
  EXPECT_EQ(report.suspects(0).leaf(), "leaf-0-1");
  EXPECT_THAT(report.suspects(0).name(), ::testing::StartsWith("leaf-0-1 uplinks, one path of"));
  EXPECT_NEAR(report.suspects(0).affected(), 0.25, 0.15);
  EXPECT_NEAR(report.suspects(0).severity(), 0.3, 0.01);
}

TEST(Judge, NamesASpineThatSeveralLeavesShare) {
  const auto report =
      Judge(FabricOf(kJudgeLayout),
            With(
                Healthy(kJudgeLayout),
                [](const auto& seen) { return Across(seen) && OnPath(seen, 1); }, Losing(0.3)));
  EXPECT_EQ(Text(report), "SPINE a spine PACKET_LOSS");
}

// Two nodes a leaf: their leaf, its ways out, or the two of them.
TEST(Judge, DoesNotPretendWithTwoPortsUnderALeaf) {
  const Layout layout{.nodes = 8, .rails = 1, .per_leaf = 2};
  const auto under = [](std::uint32_t endpoint) { return endpoint / 2 == 1; };
  const auto report =
      Judge(FabricOf(layout),
            With(
                Healthy(layout),
                [&](const auto& seen) { return under(seen.from) || under(seen.to); }, Dead));
  EXPECT_EQ(report.state(), v1::BLAME_STATE_UNDECIDED);
  EXPECT_EQ(report.suspects_size(), 0) << Text(report);
  EXPECT_THAT(Text(report), ::testing::HasSubstr("LEAF leaf-0-1"));
  EXPECT_THAT(Text(report), ::testing::HasSubstr("PORT n12/mlx5_0/1, PORT n13/mlx5_0/1"));
}

// A certificate of three nodes of one leaf, whose machines are starved: seen in the lab, where the
// leaf was named.
TEST(Judge, NamesNoLeafWhereNothingElseWasTried) {
  const Layout layout{.nodes = 9, .rails = 1, .per_leaf = 3};
  std::vector<Observation> seen;
  std::uint32_t round = 0;
  for (const auto& [from, to] : {std::pair{0U, 1U}, {0U, 2U}, {1U, 2U}, {0U, 1U}})
    seen.push_back({.from = from, .to = to, .round = ++round, .attempts = 1, .failures = 1});
  const v1::BlameReport alone = Judge(FabricOf(layout), seen);
  EXPECT_EQ(alone.state(), v1::BLAME_STATE_UNDECIDED);
  EXPECT_EQ(Text(alone), "| FABRIC the fabric, LEAF leaf-0-0");

  // One pair under another leaf is well: so are settings and switches that both share.
  seen.push_back({.from = 3, .to = 4, .round = 1, .attempts = 1});
  EXPECT_EQ(Text(Judge(FabricOf(layout), seen)), "LEAF leaf-0-0 TOTAL_LOSS");
}

// Each of its three partners has failed, and nobody knows whether these reach anybody.
TEST(Judge, NamesNoPortWhereNothingElseWasTried) {
  const Layout layout{.nodes = 4, .rails = 1, .per_leaf = 0};
  std::vector<Observation> seen;
  for (const std::uint32_t partner : {1U, 2U, 3U})
    seen.push_back({.from = 0, .to = partner, .round = partner, .attempts = 1, .failures = 1});
  EXPECT_EQ(Text(Judge(FabricOf(layout), seen)), "| FABRIC the fabric, PORT n10/mlx5_0/1");
  seen.push_back({.from = 1, .to = 2, .round = 3, .attempts = 1});
  EXPECT_EQ(Text(Judge(FabricOf(layout), seen)), "PORT n10/mlx5_0/1 TOTAL_LOSS");
}

TEST(Judge, DoesNotTellAPortFromItsLeafWhereItIsAlone) {
  const Layout layout{.nodes = 6, .rails = 1, .per_leaf = 1};
  const auto report =
      Judge(FabricOf(layout),
            With(
                Healthy(layout), [](const auto& seen) { return Touches(seen, 2); }, Dead));
  EXPECT_EQ(report.suspects_size(), 0) << Text(report);
  EXPECT_EQ(Text(report), "| LEAF leaf-0-2, PORT n12/mlx5_0/1, UPLINK leaf-0-2 uplinks");
}

TEST(Judge, DoesNotChooseBetweenTwoThatOnlyMetEachOther) {
  const Layout layout{.nodes = 2, .rails = 1, .per_leaf = 0};
  std::vector<Observation> seen;
  for (std::uint32_t round = 1; round <= 5; ++round) {
    for (Observation one : Healthy(layout)) {
      one.round = round;
      Dead(one);
      seen.push_back(one);
    }
  }
  const auto report = Judge(FabricOf(layout), seen);
  EXPECT_EQ(report.suspects_size(), 0) << Text(report);
  EXPECT_THAT(Text(report), ::testing::HasSubstr("| "));
}

TEST(Judge, NamesAPortWithoutKnowingTheLeaves) {
  const Layout layout{.per_leaf = 0};
  const auto report =
      Judge(FabricOf(layout),
            With(
                Healthy(layout), [](const auto& seen) { return Touches(seen, 6); }, Losing(0.005)));
  EXPECT_EQ(Text(report), "PORT n13/mlx5_0/1 PACKET_LOSS");
}

TEST(Judge, NamesTheEndThatIsKnownToHaveFailed) {
  const auto report =
      Judge(FabricOf(kJudgeLayout),
            With(
                Healthy(kJudgeLayout),
                [](const auto& seen) { return NodeOf(seen.from) == 3 || NodeOf(seen.to) == 3; },
                [](Observation& seen) {
                  seen.failed_end = NodeOf(seen.from) == 3 ? End::kFrom : End::kTo;
                  seen.attempts = 1;
                  Dead(seen);
                }));
  EXPECT_EQ(Text(report), "HOST n13 TOTAL_LOSS");
}

// As results that name who was late are read: their samples were void, or they came to no end.
TEST(Judge, AccusesNobodyOfBeingLate) {
  const auto report =
      Judge(FabricOf(kJudgeLayout),
            With(
                Healthy(kJudgeLayout),
                [](const auto& seen) { return NodeOf(seen.from) == 3 || NodeOf(seen.to) == 3; },
                [](Observation& seen) {
                  seen.failed_end = NodeOf(seen.from) == 3 ? End::kFrom : End::kTo;
                  seen.attempts = seen.failures = 0;
                }));
  EXPECT_EQ(report.suspects_size(), 0) << Text(report);
  EXPECT_EQ(report.undecided_size(), 0) << Text(report);
}

std::vector<Observation> LateAt(const std::set<std::uint32_t>& nodes) {
  const auto end = [&](const Observation& seen) -> std::optional<End> {
    if (nodes.contains(NodeOf(seen.from))) return End::kFrom;
    if (nodes.contains(NodeOf(seen.to))) return End::kTo;
    return std::nullopt;
  };
  // In every second round; in the others the host runs, and its queue pairs break.
  return With(
      Healthy(kJudgeLayout), [&](const auto& seen) { return end(seen).has_value(); },
      [&](Observation& seen) {
        if (seen.round % 2 == 0) return Dead(seen);
        seen.failed_end = end(seen);
        seen.late = true;
        seen.attempts = seen.failures = 0;
      });
}

TEST(Judge, NamesAHostThatDidNotRunAndNotItsPorts) {
  const auto report = Judge(FabricOf(kJudgeLayout), LateAt({3}));
  EXPECT_EQ(Text(report), "HOST n13 HOST_STALLED");
}

// Most hosts are late: the controller's machine is loaded, or there is a common cause.
TEST(Judge, NamesNoHostIfMostAreLate) {
  std::set<std::uint32_t> most;
  for (std::uint32_t node = 0; node < kJudgeLayout.nodes; ++node)
    if (node % 4 != 0) most.insert(node);
  const auto report = Judge(FabricOf(kJudgeLayout), LateAt(most));
  for (const v1::Suspect& suspect : report.suspects())
    EXPECT_NE(suspect.fault(), v1::FAULT_KIND_HOST_STALLED) << Text(report);
}

// Six rounds of two seconds: a host stood still. Of half a minute: its port comes and goes.
TEST(Judge, NamesNoPortOfAHostThatPaused) {
  const Layout layout{.nodes = 16, .rails = 1};
  const auto seen = With(
      Healthy(layout),
      [](const auto& one) { return Touches(one, 5) && one.round >= 3 && one.round <= 8; },
      [](Observation& one) {
        if (one.speed) one.speed = 0.4F;
        Lose(one, 0.3);
      });
  const Fabric fabric = FabricOf(layout);
  EXPECT_EQ(Judge(fabric, Apart(seen, 0.3)).suspects_size(), 0)
      << Text(Judge(fabric, Apart(seen, 0.3)));
  EXPECT_EQ(Text(Judge(fabric, Apart(seen, 5))), "PORT n15/mlx5_0/1 PACKET_LOSS");
  EXPECT_EQ(Text(Judge(fabric, seen)), "PORT n15/mlx5_0/1 PACKET_LOSS") << "at unknown times";
}

TEST(Judge, RefersToFindingsAndSaysWhatWasNotCovered) {
  Fabric fabric = FabricOf(kJudgeLayout);
  fabric.endpoints.push_back({.node = "n99", .device = "mlx5_0", .port = 1, .rail = 0});
  v1::Finding finding;
  finding.set_id("f1");
  finding.mutable_subject()->set_scope(v1::SCOPE_PORT);
  finding.mutable_subject()->set_node("n13");
  finding.mutable_subject()->set_device("mlx5_0");
  finding.mutable_subject()->set_port(1);
  v1::Finding other = finding;
  other.mutable_subject()->set_device("mlx5_1");
  const auto report =
      Judge(fabric,
            With(
                Healthy(kJudgeLayout), [](const auto& seen) { return Touches(seen, 6); }, Dead),
            std::vector<v1::Finding>{finding, other});
  ASSERT_EQ(report.suspects_size(), 1) << Text(report);
  EXPECT_THAT(report.suspects(0).findings(), ::testing::ElementsAre("f1"));
  EXPECT_EQ(report.suspects(0).leaf(), "leaf-0-0");
  EXPECT_EQ(report.suspects(0).leaf_port(), "swp3");
  EXPECT_THAT(fabric::testing::Texts(report.not_covered()),
              ::testing::ElementsAre("n99/mlx5_0/1: not probed"));
}

TEST(Judge, SaysWhenTooLittleWasSeen) {
  const Fabric fabric = FabricOf(kJudgeLayout);
  EXPECT_EQ(Judge(fabric, {}).state(), v1::BLAME_STATE_INSUFFICIENT_DATA);
  const Observation one{.from = 0, .to = 2, .round = 1, .attempts = 1};
  EXPECT_EQ(Judge(fabric, std::vector<Observation>{one}).state(),
            v1::BLAME_STATE_INSUFFICIENT_DATA);
  const Observation beyond{.from = 0, .to = 99999, .round = 1, .attempts = 1};
  EXPECT_EQ(Judge(fabric, std::vector<Observation>{beyond}).observations(), 0U);
}

// Three nodes met once each: chance is not excluded, but this is not health.
TEST(Judge, IsNeverHealthyWhereMostOfWhatWasTriedFailed) {
  const Fabric fabric = FabricOf(kJudgeLayout);
  std::vector<Observation> seen;
  std::uint32_t round = 0;
  for (const auto& [from, to] : {std::pair{0U, 2U}, {0U, 4U}, {2U, 4U}})
    seen.push_back(
        {.from = from, .to = to, .round = ++round, .attempts = 1, .failures = to == 4 ? 1U : 0U});
  const v1::BlameReport report = Judge(fabric, seen);
  EXPECT_NE(report.state(), v1::BLAME_STATE_HEALTHY) << Text(report);
  for (const v1::Suspect& suspect : report.suspects()) EXPECT_EQ(suspect.node(), "n12");
}

TEST(Judge, GivesTheSameReportAgain) {
  const auto seen = With(
      Healthy(kJudgeLayout), [](const auto& one) { return Touches(one, 6); }, Losing(0.004));
  EXPECT_EQ(Judge(FabricOf(kJudgeLayout), seen).SerializeAsString(),
            Judge(FabricOf(kJudgeLayout), seen).SerializeAsString());
}

}  // namespace
}  // namespace fabric::blame::testing
