// The command probe plan: reaches nothing, prints rounds as they are worked out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/text.h"
#include "proto/json.h"
#include "tests/testing/nodes.h"
#include "tests/testing/paths.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

std::string PlanSays(const std::string& words, int status = kExitOk) {
  FakeController controller;
  controller.failure = Status(Code::kUnavailable, "nothing may be asked");
  const Said said = RunWords("probe plan " + words, controller);
  EXPECT_EQ(said.status, status) << words << ": " << said.err;
  return status == kExitOk ? said.out : said.err;
}

// The pairs of each line of `-o name`, which has one pair on each.
std::multiset<std::set<std::string>> PairsOf(const std::string& words) {
  std::multiset<std::set<std::string>> pairs;
  const std::string out = PlanSays(words + " -o name");
  for (const std::string_view line : Split(Trim(out), '\n')) {
    const auto ends = Words(line);
    EXPECT_EQ(ends.size(), 2u) << line;
    pairs.insert({ends.begin(), ends.end()});
  }
  return pairs;
}

TEST(ProbePlan, IsJsonOfRoundsAndPairs) {
  const std::string out = PlanSays("--nodes 4 -o json");
  // The order is the seed's; the shape is promised.
  EXPECT_TRUE(out.starts_with("{\"rounds\":[\n{\"pairs\":[{\"a\":\"n")) << out;
  EXPECT_TRUE(out.ends_with("\"}]}]}\n")) << out;
  std::size_t rounds = 0;
  for (std::size_t at = 0; (at = out.find("\"pairs\"", at)) != std::string::npos; ++at) ++rounds;
  EXPECT_EQ(rounds, 3u);
}

TEST(ProbePlan, HasEveryPairOnce) {
  const auto pairs = PairsOf("--nodes 9");
  EXPECT_EQ(pairs.size(), 36u);
  for (const auto& pair : pairs) EXPECT_EQ(pairs.count(pair), 1u);
  EXPECT_EQ(PairsOf("--nodes a,b,c"),
            (std::multiset<std::set<std::string>>{{"a", "b"}, {"a", "c"}, {"b", "c"}}));
}

TEST(ProbePlan, NamesPortsByRailWhereThereAreSeveral) {
  const auto pairs = PairsOf("--nodes 2 --rails 3");
  EXPECT_EQ(pairs,
            (std::multiset<std::set<std::string>>{
                {"n1/rail0", "n2/rail0"}, {"n1/rail1", "n2/rail1"}, {"n1/rail2", "n2/rail2"}}));
  EXPECT_EQ(PairsOf("--nodes 2 --rails 1,3").size(), 2u);
}

TEST(ProbePlan, IsTheSameForASeed) {
  const std::string words = "--nodes 12 --pattern random-regular --degree 3 --seed ";
  EXPECT_EQ(PlanSays(words + "7"), PlanSays(words + "7"));
  EXPECT_NE(PlanSays(words + "7"), PlanSays(words + "8"));
}

TEST(ProbePlan, TellsPeopleWhatItIs) {
  EXPECT_EQ(PlanSays("--nodes a,b,c,d --pattern ring"),
            "4 pairs of 4 ports, ring, seed 0\n"
            "ROUND  PAIRS\n"
            "    1  a>b c>d\n"
            "    2  b>c d>a\n"
            "2 rounds\n");
}

TEST(ProbePlan, SplitsRoundsThatExceedALimit) {
  EXPECT_THAT(PlanSays("--nodes 8 --pairs-at-once 3"), HasSubstr("\n14 rounds\n"));
  EXPECT_THAT(PlanSays("--nodes 8 --nodes-per-leaf 4 --pattern across --pairs-per-uplink 1"),
              HasSubstr("\n16 rounds\n"));
}

TEST(ProbePlan, KnowsTheLeavesOfSnapshotsAndOfCounts) {
  EXPECT_EQ(PairsOf("--nodes 4 --nodes-per-leaf 2 --pattern same-leaf"),
            (std::multiset<std::set<std::string>>{{"n1", "n2"}, {"n3", "n4"}}));
}

TEST(ProbePlan, OfALargeFleetIsNotHeldInMemory) {
  const std::string out = PlanSays("--nodes 2048 --rails 8 --pattern ring -o yaml");
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1 + 2 + 2048 * 8);
}

TEST(ProbePlan, RefusesWhatItCannotMean) {
  struct Case {
    std::string words;
    std::string says;
  };
  for (const Case& one : std::vector<Case>{
           {"", "expected --nodes or snapshot files"},
           {"--nodes 0", "--nodes: expected 1 to 65536 nodes, or names, saw 0"},
           {"--nodes 99999999999", "--nodes: expected 1 to 65536 nodes, or names, saw 99999999999"},
           {"--nodes a,b,a", "--nodes: a node is named twice"},
           {"--nodes 4 --rails 0", "--rails: expected 1 to 64 rails, saw 0"},
           {"--nodes 4 --pattern rnig", "; did you mean 'ring'?"},
           {"--nodes 4 --pattern one-to-many", "--pattern one-to-many requires --hub"},
           {"--nodes 4 --pattern one-to-many --hub n9", "hub: unknown node 'n9'"},
           {"--nodes 4 --hub n1", "--hub does not apply to --pattern all-pairs"},
           {"--nodes 4 --degree 3", "--degree does not apply to --pattern all-pairs"},
           {"--nodes 4 --leaves-per-pod 2", "--leaves-per-pod requires --nodes-per-leaf"},
           {"--nodes 4 --profile ./site.yaml", "--profile requires snapshot files"},
           {"--nodes 4 --infiniband-topology ib.txt",
            "--infiniband-topology requires snapshot files"},
           {"--nodes 4 --pattern same-pot", "; did you mean 'same-pod'?"},
           {"/no/such/file", "/no/such/file"},
       })
    EXPECT_THAT(PlanSays(one.words, one.words.starts_with('/') ? kExitError : kExitUsage),
                HasSubstr(one.says))
        << one.words;
  EXPECT_THAT(PlanSays("--nodes 1", kExitError), HasSubstr("nothing to probe: n1"));
  EXPECT_THAT(PlanSays("--nodes 4 --pattern across", kExitError), HasSubstr("no LLDP neighbor"));
}

TEST(ProbePlan, PairsLeavesOfOnePod) {
  EXPECT_EQ(PairsOf("--nodes 8 --nodes-per-leaf 2 --leaves-per-pod 2 --pattern same-pod"),
            (std::multiset<std::set<std::string>>{{"n1", "n3"},
                                                  {"n1", "n4"},
                                                  {"n2", "n3"},
                                                  {"n2", "n4"},
                                                  {"n5", "n7"},
                                                  {"n5", "n8"},
                                                  {"n6", "n7"},
                                                  {"n6", "n8"}}));
  EXPECT_EQ(PairsOf("--nodes 8 --nodes-per-leaf 2 --leaves-per-pod 2 --pattern across").size(),
            16u);
}

TEST(ProbePlan, TakesPortsOfSnapshots) {
  const auto directory = std::filesystem::path(::testing::TempDir()) / "probe_plan_snapshots";
  std::filesystem::create_directories(directory);
  std::string words;
  for (v1::NodeSnapshot& node : testing::Nodes(3, testing::RoceNode)) {
    const auto path = directory / (node.node().name() + ".json");
    std::ofstream(path) << ToJson(node, false);
    words += path.string() + " ";
  }
  EXPECT_EQ(PairsOf(words + "--rails 1 --nodes n1,n3"),
            (std::multiset<std::set<std::string>>{{"n1/mlx5_1/1", "n3/mlx5_1/1"}}));
  EXPECT_EQ(PairsOf(words).size(), 6u);
}

TEST(ProbePlan, TakesTheLeavesOfAnInfinibandTopology) {
  const auto directory = std::filesystem::path(::testing::TempDir()) / "probe_plan_infiniband";
  std::filesystem::create_directories(directory);
  std::string words;
  for (v1::NodeSnapshot& node :
       testing::Nodes(6, testing::InfinibandNode, {.rails = 1, .gpu = false})) {
    const auto path = directory / (node.node().name() + ".json");
    std::ofstream(path) << ToJson(node, false);
    words += path.string() + " ";
  }
  const std::string topology =
      std::string(testing::kSourceDir) + "/tests/fixtures/infiniband/two_leaves.txt";
  EXPECT_EQ(PairsOf(words + "--pattern across --infiniband-topology " + topology).size(), 8u)
      << "four nodes are under one leaf, two under the other";
  EXPECT_THAT(PlanSays(words + "--pattern across", kExitError), HasSubstr("no LLDP neighbor"));
  EXPECT_THAT(PlanSays(words + "--infiniband-topology /no/such/ib.txt", kExitError),
              HasSubstr("/no/such/ib.txt: No such file"));
  std::ofstream(directory / "bad.txt") << "hello\n";
  EXPECT_THAT(
      PlanSays(words + "--infiniband-topology " + (directory / "bad.txt").string(), kExitUsage),
      HasSubstr("bad.txt: expected output of fabric-agent subnet read, ibnetdiscover"));
}

}  // namespace
}  // namespace fabric::ctl
