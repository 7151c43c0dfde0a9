// The commands node maintenance, reload and profile apply.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;

TEST(NodeMaintenance, IsASilenceOfTheNodeThatCampaignsObey) {
  FakeController controller;
  controller.Answer<v1::Silence>() = FromText<v1::Silence>(
      R"({"id": "s1", "node": "n2", "maintenance": true, "until": "2026-11-21T05:16:07Z"})");
  const Said said =
      RunWords("node maintenance n2 --for 4h --reason OPS-7 --author ada", controller);
  EXPECT_EQ(said.out, "Node n2 is in maintenance until 2026-11-21T05:16:07Z.\n");
  const auto request = controller.LastRequest<v1::CreateSilenceRequest>();
  EXPECT_TRUE(request.silence().maintenance());
  EXPECT_EQ(request.silence().node(), "n2");
  EXPECT_EQ(request.silence().reason(), "OPS-7");
  EXPECT_EQ(request.duration_seconds(), 4u * 3600);
}

TEST(NodeMaintenance, EndsWhatWasStartedForTheNode) {
  FakeController controller;
  controller.Answer<v1::ListSilencesResponse>() = FromText<v1::ListSilencesResponse>(
      R"({"silences": [{"id": "s1", "node": "n2"}, {"id": "s2", "node": "n2", "maintenance": true},
                       {"id": "s3", "node": "n3", "maintenance": true}]})");
  const Said said = RunWords("node maintenance n2 --end --author ada", controller);
  EXPECT_EQ(said.out, "Maintenance of n2 ended.\n");
  const auto ended = controller.Requests<v1::DeleteSilenceRequest>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].id(), "s2");
  EXPECT_THAT(RunWords("node maintenance n9 --end --author ada", controller).err,
              HasSubstr("node n9 is not in maintenance"));
}

TEST(NodeMaintenance, NeedsADurationAndAReasonOrAnEnd) {
  FakeController controller;
  EXPECT_THAT(RunWords("node maintenance n2 --for 1h --author ada", controller).err,
              HasSubstr("expected --for and --reason, or --end"));
  EXPECT_THAT(RunWords("node maintenance n2 --for 1h --end --author ada", controller).err,
              HasSubstr("expected --end alone"));
}

TEST(Reload, TellsWhatIsInUseAndWhatNeedsARestart) {
  FakeController controller;
  controller.Answer<v1::ReloadResponse>() = FromText<v1::ReloadResponse>(
      R"({"profile": "site", "rules": 2, "logLevel": "info", "restartNeeded": ["lost-after"]})");
  EXPECT_EQ(RunWords("reload --author ada", controller).out,
            "Reloaded: profile site, 2 custom rules, log level info.\n"
            "Restart fabricd to use the new value of lost-after.\n");
}

TEST(ProfileApply, SendsTheFileAndChecksItFirst) {
  testing::TempTree tree;
  tree.File("site.yaml", "name: site\nexpect:\n  netdev_mtu_bytes: 4200\n");
  tree.File("bad.yaml", "name: site\nexpekt: {}\n");
  FakeController controller;
  controller.Answer<v1::ReloadResponse>().set_profile("site");
  EXPECT_EQ(RunWords("profile apply " + tree.path() + "/site.yaml --dry-run", controller).out,
            "Valid: profile site.\n");
  const auto request = controller.LastRequest<v1::ApplyProfileRequest>();
  EXPECT_THAT(request.yaml(), HasSubstr("netdev_mtu_bytes: 4200"));
  EXPECT_TRUE(request.dry_run());
  EXPECT_THAT(RunWords("profile apply " + tree.path() + "/bad.yaml", controller).err,
              HasSubstr("bad.yaml:2:1"));
  EXPECT_EQ(controller.Requests<v1::ApplyProfileRequest>().size(), 1u);
}

}  // namespace
}  // namespace fabric::ctl
