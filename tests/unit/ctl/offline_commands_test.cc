// The commands check, explain, profile list, profile show and profile check: without a controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "proto/json.h"
#include "tests/testing/counter_rates.h"
#include "tests/testing/nodes.h"
#include "tests/testing/paths.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Offline : public ::testing::Test {
 protected:
  // Writes a file and gives its path.
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = tree.path() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  std::string Node(std::uint32_t number, std::uint32_t mtu_bytes = 9000) {
    v1::NodeSnapshot node = testing::RoceNode({.number = number, .gpu = false});
    testing::SetMtu(node, 0, mtu_bytes);
    return File("n" + std::to_string(number) + ".json", ToJson(node, true));
  }

  testing::TempTree tree;
  FakeController controller;
};

TEST_F(Offline, CheckComparesSnapshotsWithEachOther) {
  const std::string healthy = Node(1) + " " + Node(2) + " " + Node(3);
  EXPECT_EQ(RunWords("check " + healthy, controller).status, kExitOk);
  const Said said = RunWords("check " + healthy + " " + Node(4, 1500), controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("4 nodes, "));
  EXPECT_THAT(said.out, HasSubstr("netdev MTU 1500, expected 9000 (3 of 4 nodes on rail 0)"));
}

TEST_F(Offline, CheckPrintsFindingsAndCountsAsJson) {
  const Said said = RunWords("check -o json " + Node(1), controller);
  EXPECT_EQ(said.status, kExitOk) << said.err;
  EXPECT_THAT(said.out, HasSubstr("\"counts\": {"));
}

TEST_F(Offline, CheckHoldsSnapshotsAgainstAProfile) {
  const std::string site =
      File("site.yaml", "name: site\ninherits: roce-pfc-dcqcn\nexpect: {netdev_mtu_bytes: 4200}\n");
  const Said said = RunWords("check --profile " + site + " " + Node(1), controller);
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("netdev MTU 9000, expected 4200 (profile site), on all 2 ports"));
}

TEST_F(Offline, OfTwoSnapshotsOfAMachineTheNewerCounts) {
  v1::NodeSnapshot node = testing::RoceNode({.number = 1, .gpu = false});
  node.mutable_taken_at()->set_seconds(100);
  const std::string newer = File("newer.json", ToJson(node, false));
  node.mutable_taken_at()->set_seconds(50);
  testing::LinkDown(node, 0);
  const std::string older = File("older.json", ToJson(node, false));
  EXPECT_EQ(RunWords("check " + newer + " " + older, controller).status, kExitOk);
  EXPECT_EQ(RunWords("check " + older + " " + newer, controller).status, kExitOk);
  EXPECT_EQ(RunWords("check " + older, controller).status, kExitFindings);
}

TEST_F(Offline, CheckJudgesByRulesOfOnesOwn) {
  const std::string good =
      "  - {id: site.mtu, title: \"MTU ${netdev.mtu_bytes}\", severity: error, scope: port,\n"
      "     check: netdev.mtu_bytes == 4200}\n";
  const std::string bad =
      "  - {id: site.bad, title: t, severity: error, scope: port, check: netdev.mtu == 1}\n";
  const Said said = RunWords(
      "check --rules " + File("site.yaml", "rules:\n" + good + bad) + " " + Node(1), controller);
  EXPECT_EQ(said.status, kExitFindings) << said.err;
  EXPECT_THAT(said.out, HasSubstr("site.yaml:4:"));
  EXPECT_THAT(said.out, HasSubstr("site.mtu"));
  EXPECT_THAT(said.out, HasSubstr("MTU 9000"));
  EXPECT_EQ(
      RunWords("check --rules " + File("bad.yaml", "rules:\n" + bad) + " " + Node(1), controller)
          .status,
      kExitUsage);
}

TEST_F(Offline, TwoSnapshotsOfAMachineShowHowItsCountersMove) {
  testing::Pair pair = testing::PairOf({testing::RoceNode({.number = 1, .gpu = false})});
  testing::Count(pair, 0, 0, "pfc_storm_events", 1);
  const std::string before = File("before.json", ToJson(pair.before[0], false));
  const std::string after = File("after.json", ToJson(pair.after[0], false));
  EXPECT_EQ(RunWords("check " + after, controller).status, kExitOk);
  for (const std::string& files : {before + " " + after, after + " " + before})
    EXPECT_THAT(RunWords("check " + files, controller).out, HasSubstr("1 pause storms in 30 s"));
}

TEST_F(Offline, CheckSaysWhichFileIsNoSnapshot) {
  const Said broken = RunWords("check " + Node(1) + " " + File("x", "{"), controller);
  EXPECT_EQ(broken.status, kExitUsage);
  EXPECT_THAT(broken.err, HasSubstr("/x: expected the output of `fabric-agent inspect -o json`"));
  EXPECT_THAT(RunWords("check " + File("y", "{}"), controller).err,
              HasSubstr("saw an empty message"));
  EXPECT_THAT(RunWords("check /not/there", controller).err,
              HasSubstr("/not/there: No such file or directory"));
}

TEST_F(Offline, ExplainPrintsThePageOfARule) {
  const Said said = RunWords("explain pfc_equal_on_rail", controller);
  EXPECT_EQ(said.status, kExitOk);
  EXPECT_THAT(said.out, HasSubstr("Rule\n  All RoCE ports of a rail have PFC"));
  const Said unknown = RunWords("explain pfc_equal_on_ral", controller);
  EXPECT_EQ(unknown.status, kExitError);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'pfc_equal_on_rail'?"));
  EXPECT_THAT(RunWords("explain pause_storm", controller).err,
              HasSubstr("; rules with this in their names: no_pause_storm"));
}

TEST_F(Offline, ProfilesAreListedShownAndChecked) {
  EXPECT_EQ(RunWords("profile list -o name", controller).out,
            "infiniband\niwarp\nroce-amd-ainic\nroce-broadcom\nroce-ecn-lossy\nroce-oci\n"
            "roce-pfc-dcqcn\nroce-pfc-only\nroce-sonic\n");
  const Said shown = RunWords("profile show roce-pfc-only", controller);
  EXPECT_THAT(shown.out, HasSubstr("inherits: \"roce-pfc-dcqcn\""));
  const std::string own = File("own.yaml", shown.out);
  EXPECT_EQ(RunWords("profile check " + own, controller).out,
            own + ": valid, profile roce-pfc-only\n");
  EXPECT_THAT(RunWords("profile show --resolved " + own, controller).out,
              HasSubstr("data_dscp: 26\n"));
  EXPECT_THAT(RunWords("profile show lossy", controller).err, HasSubstr("unknown profile 'lossy'"));
}

TEST_F(Offline, ProfileCheckTellsEachMistakeOnItsOwnLine) {
  const std::string bad = File("bad.yaml", "name: x\nexpect:\n  ecn: 7\n  trusd: dscp\n");
  const Said said = RunWords("profile check " + bad, controller);
  EXPECT_EQ(said.status, kExitUsage);
  EXPECT_THAT(said.out, IsEmpty());
  EXPECT_EQ(said.err, "fabricctl: " + bad + ":3:8: ecn: expected true or false, saw '7'\n" +
                          "fabricctl: " + bad +
                          ":4:3: unknown key 'trusd'; did you mean 'trust'?\n");
}

}  // namespace
}  // namespace fabric::ctl
