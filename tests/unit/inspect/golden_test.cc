#include <gmock/gmock.h>

#include "agents/inspect/inspector.h"
#include "agents/inspect/report/report.h"
#include "proto/json.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/golden.h"
#include "tests/testing/tree_archive.h"

namespace fabric::inspect {
namespace {

using testing::MatchesGolden;

class CapturedMachine : public ::testing::TestWithParam<const char*> {
 protected:
  CapturedMachine() : tree_(GetParam()), fake_(tree_.path()) {
    constexpr WallTime kTaken{std::chrono::seconds(1'795'226'400)};
    snapshot_ = Inspect(fake_.host(), {.node_name = "", .now = kTaken});
    snapshot_.mutable_node()->set_agent_version("test");
  }

  std::string Name(const std::string& what) const {
    return std::string("agent/") + GetParam() + "_" + what;
  }

  testing::Fixture tree_;
  testing::FakeHost fake_;
  v1::NodeSnapshot snapshot_;
};

TEST_P(CapturedMachine, InspectPrintsATable) {
  EXPECT_TRUE(MatchesGolden(Name("table"), Report(snapshot_)));
}

TEST_P(CapturedMachine, InspectPrintsJson) {
  EXPECT_TRUE(MatchesGolden(Name("json"), ToJson(snapshot_, true)));
}

TEST_P(CapturedMachine, InspectPrintsYaml) {
  EXPECT_TRUE(MatchesGolden(Name("yaml"), ToYaml(snapshot_)));
}

TEST_P(CapturedMachine, Ibdev2NetdevPrintsTheMap) {
  EXPECT_TRUE(MatchesGolden(Name("ibdev2netdev"), Ibdev2Netdev(snapshot_, false)));
  EXPECT_TRUE(MatchesGolden(Name("ibdev2netdev_v"), Ibdev2Netdev(snapshot_, true)));
}

// What goes to the controller must be valid, however broken the tree.
TEST_P(CapturedMachine, SnapshotSurvivesSerialisation) {
  v1::NodeSnapshot copy;
  ASSERT_TRUE(copy.ParseFromString(snapshot_.SerializeAsString()));
  EXPECT_EQ(ToJson(copy, false), ToJson(snapshot_, false));
  EXPECT_EQ(ToJson(copy, false).find("/tmp/"), std::string::npos) << "where the tree lies";
}

INSTANTIATE_TEST_SUITE_P(Fixtures, CapturedMachine,
                         ::testing::Values("azure_guest", "lag_vlan", "h100_infiniband",
                                           "roce_connectx6dx", "vf_bond", "thor2_bnxt", "mi300x",
                                           "rxe_guest", "e810_irdma", "ionic_pollara", "efa",
                                           "nothing", "broken"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace fabric::inspect
