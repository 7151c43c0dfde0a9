// Option --snapshot: commands on files in place of a controller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "proto/json.h"
#include "tests/testing/nodes.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Three nodes; n2 has another MTU.
class Snapshots : public ::testing::Test {
 protected:
  Snapshots() {
    for (const std::uint32_t number : {1u, 2u, 3u}) {
      v1::NodeSnapshot snapshot = testing::RoceNode({.number = number});
      if (number == 2)
        for (v1::NetInterface& netdev : *snapshot.mutable_net_interfaces())
          netdev.set_mtu_bytes(1500);
      tree_.File(Format("n{}.json", number), ToJson(snapshot, false));
    }
    tree_.File("README", "not a snapshot");
  }
  Said Run(std::string_view words) {
    FakeController controller;
    controller.failure = Status(Code::kUnavailable, "must not call a controller");
    return RunWords(Format("{} --snapshot {}", words, tree_.path()), controller);
  }

  testing::TempTree tree_;
};

TEST_F(Snapshots, AnswerCommandsAboutNodesPortsAndFindings) {
  EXPECT_EQ(Run("nodes -o name").out, "n1\nn2\nn3\n");
  const Said findings = Run("findings --node n2 --rule mtu_equal_on_rail");
  EXPECT_EQ(findings.status, kExitFindings) << findings.err;
  EXPECT_THAT(findings.out, HasSubstr("1500"));
  EXPECT_EQ(Run("findings --node n1 --severity error").status, kExitOk);
  EXPECT_THAT(Run("node n1").out, HasSubstr("n1"));
  EXPECT_THAT(Run("devices n3 -o name").out, HasSubstr("n3/"));
  EXPECT_THAT(Run("topology").out, HasSubstr("n1, n2, n3"));
  EXPECT_THAT(Run("nccl-env").out, HasSubstr("NCCL_IB_HCA"));
  EXPECT_EQ(Run("validate").status, kExitFindings);
}

TEST_F(Snapshots, DiagnoseSaysThatChangesAreNotKnown) {
  const Said said = Run("diagnose n2");
  EXPECT_EQ(said.status, kExitFindings);
  EXPECT_THAT(said.out, HasSubstr("mtu_equal_on_rail"));
  EXPECT_THAT(said.out, HasSubstr("Settings that changed: not known without a controller.\n"));
}

TEST_F(Snapshots, AFindingIsShownByAPrefixOfItsId) {
  const std::string id = Run("findings --rule mtu_equal_on_rail -o name").out.substr(0, 12);
  EXPECT_THAT(Run("finding show " + id).out, HasSubstr("mtu_equal_on_rail"));
  EXPECT_THAT(Run("finding show zz").err, HasSubstr("no finding 'zz'"));
}

TEST_F(Snapshots, CommandsThatNeedAControllerSaySo) {
  for (const std::string_view words : {"status", "probe run", "events"}) {
    const Said said = Run(words);
    EXPECT_THAT(said.err, HasSubstr("no controller is asked; saw one that calls ")) << words;
    EXPECT_EQ(said.status, kExitError);
  }
  EXPECT_THAT(Run("top n1").err, HasSubstr("'top' needs two samples"));
  EXPECT_THAT(Run("nodes --filter state=lost").err, HasSubstr("a filter needs a controller"));
  EXPECT_THAT(Run("node n11").err, HasSubstr("unknown node 'n11'; did you mean 'n1'?"));
  EXPECT_THAT(Run("version").out + Run("version").err,
              Not(HasSubstr("must not call a controller")));
}

TEST_F(Snapshots, AreNotCombinedWithAController) {
  EXPECT_THAT(Run("nodes --controller c1").err,
              HasSubstr("expected --snapshot or --controller, saw both"));
  EXPECT_THAT(Run("node n1 --wait").err, HasSubstr("expected --snapshot or --wait, saw both"));
  EXPECT_THAT(Run("check a.json").err,
              HasSubstr("--snapshot: expected a command that asks a controller, saw 'check'"));
}

TEST_F(Snapshots, AFileThatCannotBeUsedIsNamed) {
  tree_.File("bad.json", "{");
  EXPECT_THAT(Run("nodes").err, HasSubstr("bad.json: "));
  FakeController controller;
  testing::TempTree empty;
  EXPECT_THAT(RunWords(Format("nodes --snapshot {}", empty.path()), controller).err,
              HasSubstr("expected files NODE.json"));
  EXPECT_THAT(RunWords("nodes --snapshot /nowhere", controller).err,
              HasSubstr("/nowhere: No such file or directory"));
}

}  // namespace
}  // namespace fabric::ctl
