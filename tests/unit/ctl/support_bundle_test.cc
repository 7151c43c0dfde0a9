// The command support-bundle: its files, and that it has no secrets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/text.h"
#include "tests/testing/temp_tree.h"
#include "tests/unit/ctl/fake_client.h"

namespace fabric::ctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Written(const testing::TempTree& tree) {
  std::ifstream file(tree.path() + "/b.tar");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SupportBundle, HasTheListsAndTheSnapshotsOfNodesWithFindings) {
  testing::TempTree tree;
  FakeController controller;
  controller.Answer<v1::ListNodesResponse>() = FromText<v1::ListNodesResponse>(
      R"({"nodes": [{"name": "n1", "findings_open": 1}, {"name": "n2"}]})");
  controller.Answer<v1::GetNodeResponse>() = FromText<v1::GetNodeResponse>(
      R"({"snapshot": {"host": {"kernel_command_line": "quiet rd.luks.key=hunter2 mlx=1"}}})");
  const Said said = RunWords("support-bundle --out " + tree.path() + "/b.tar", controller);
  EXPECT_THAT(said.out, HasSubstr("/b.tar: 16 files, 1 snapshot."));
  std::ifstream file(tree.path() + "/b.tar");
  const std::string tar((std::istreambuf_iterator<char>(file)), {});
  for (const char* name : {"fabricd-bundle/findings.json", "fabricd-bundle/nodes/n1.json",
                           "fabricd-bundle/mesh.json", "fabricd-bundle/settings.json"})
    EXPECT_THAT(tar, HasSubstr(name));
  EXPECT_THAT(tar, HasSubstr("quiet rd.luks.key=(removed) mlx=1"));
  EXPECT_THAT(tar, ::testing::Not(HasSubstr("hunter2")));
  EXPECT_THAT(tar, ::testing::Not(HasSubstr("nodes/n2.json")));
}

TEST(SupportBundle, NeedsAController) {
  FakeController controller;
  controller.failure = Status(Code::kUnavailable, "cannot reach the controller");
  testing::TempTree tree;
  EXPECT_EQ(RunWords("support-bundle --out " + tree.path() + "/b.tar", controller).status,
            kExitUnreachable);
  EXPECT_FALSE(std::filesystem::exists(tree.path() + "/b.tar"));
}

TEST(SupportBundle, HasTheNewestEvents) {
  testing::TempTree tree;
  FakeController controller;
  for (int i = 1; i <= 5002; ++i) {
    v1::Event& event = controller.events.emplace_back();
    event.set_sequence(static_cast<std::uint64_t>(i));
    event.mutable_node()->set_name(Format("event{}.", i));
  }
  ASSERT_EQ(RunWords("support-bundle --out " + tree.path() + "/b.tar", controller).status, kExitOk);
  EXPECT_EQ(controller.LastRequest<v1::WatchEventsRequest>().after_cursor(), "0-0");
  const std::string tar = Written(tree);
  EXPECT_THAT(tar, HasSubstr("fabricd-bundle/events.jsonl"));
  EXPECT_THAT(tar, Not(HasSubstr("event2.")));
  EXPECT_THAT(tar, HasSubstr("event3."));
  EXPECT_THAT(tar, HasSubstr("event5002."));
}

TEST(SupportBundle, SaysHowToAddSettingsAndLogLines) {
  testing::TempTree tree;
  FakeController controller;
  ASSERT_EQ(RunWords("support-bundle --out " + tree.path() + "/b.tar", controller).status, kExitOk);
  EXPECT_THAT(Written(tree), HasSubstr("journalctl -u fabricd --since -1h"));
  EXPECT_THAT(Written(tree), HasSubstr("--print-config > settings.txt"));
}

TEST(SupportBundle, AddsTheEndOfFilesWithoutSecrets) {
  testing::TempTree tree;
  const std::string token = "fabric_" + std::string(43, 'x');
  std::string log = "first line\n";
  while (log.size() < (std::size_t{9} << 20)) log += "a line of the log that is not new\n";
  tree.File("fabricd log.txt", log + "seen " + token + " from 192.0.2.1\n");
  tree.File("settings.txt",
            "state: postgresql://fabricd:hunter2@db/fabricd\ntls-key: /etc/k.pem\n");
  FakeController controller;
  const Said said = RunWords(
      Format("support-bundle --out {0}/b.tar --add {0}/settings.txt", tree.path()), controller);
  ASSERT_EQ(said.status, kExitOk) << said.err;
  std::string tar = Written(tree);
  EXPECT_THAT(tar, HasSubstr("fabricd-bundle/added/1-settings.txt"));
  EXPECT_THAT(tar, HasSubstr("state: postgresql://fabricd:(removed)@db/fabricd\n"));
  EXPECT_THAT(tar, HasSubstr("tls-key: /etc/k.pem\n"));
  std::filesystem::rename(tree.path() + "/fabricd log.txt", tree.path() + "/log");
  ASSERT_EQ(
      RunWords(Format("support-bundle --out {0}/b.tar --add {0}/log", tree.path()), controller)
          .status,
      kExitOk);
  tar = Written(tree);
  EXPECT_THAT(tar, HasSubstr("seen (removed) from 192.0.2.1\n"));
  EXPECT_EQ(tar.find("first line"), std::string::npos);
  EXPECT_EQ(tar.find(token), std::string::npos);
  EXPECT_THAT(
      RunWords(Format("support-bundle --out {0}/b.tar --add {0}/none", tree.path()), controller)
          .err,
      HasSubstr("/none"));
}

}  // namespace
}  // namespace fabric::ctl
