// Snapshots and reports of the captured machines. The golden texts are by subject, with all
// machines in one file: a change of one field changes few of them. One machine has its whole
// output.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "agents/inspect/inspector.h"
#include "agents/inspect/report/report.h"
#include "base/text.h"
#include "proto/json.h"
#include "tests/testing/captured.h"
#include "tests/testing/fake_host.h"
#include "tests/testing/golden.h"
#include "tests/testing/paths.h"
#include "tests/testing/tree_archive.h"

namespace fabric::inspect {
namespace {

using testing::MatchesGolden;

using Machines = std::map<std::string, v1::NodeSnapshot>;

Machines InspectAll() {
  Machines machines;
  for (const char* const name : testing::CapturedMachines()) {
    const testing::Fixture tree(name);
    testing::FakeHost fake(tree.path());
    constexpr WallTime kTaken{std::chrono::seconds(1'795'226'400)};
    v1::NodeSnapshot& snapshot = machines[name];
    snapshot = Inspect(fake.host(), {.node_name = "", .now = kTaken});
    snapshot.mutable_node()->set_agent_version("test");
  }
  return machines;
}

const Machines& AllMachines() {
  static const Machines kMachines = InspectAll();
  return kMachines;
}

TEST(CapturedMachines, HaveTheseSnapshots) {
  std::map<std::string, const google::protobuf::Message*> snapshots;
  for (const auto& [name, snapshot] : AllMachines()) snapshots[name] = &snapshot;
  for (const auto& [field, text] : testing::GoldensByField(snapshots))
    EXPECT_TRUE(MatchesGolden("snapshot/" + field, text));
  for (const auto& [name, snapshot] : AllMachines())
    EXPECT_EQ(ToJson(testing::Captured(name), true), ToJson(snapshot, true)) << "a stale golden";
}

// "rdma_devices" for the section "RDMA devices"
std::string FileName(std::string_view section) {
  std::string name;
  for (const char c : section.substr(0, section.find('\n')))
    name += std::isalnum(static_cast<unsigned char>(c)) != 0
                ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                : '_';
  return name;
}

std::vector<std::string> Sections(const std::string& report) {
  std::vector<std::string> sections;
  for (std::size_t begin = 0; begin < report.size();) {
    const std::size_t end = std::min(report.find("\n\n", begin), report.size() - 1) + 1;
    sections.push_back(report.substr(begin, end - begin));
    begin = end + 1;
  }
  return sections;
}

TEST(CapturedMachines, HaveTheseReports) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, snapshot] : AllMachines())
    for (const std::string& section : Sections(Report(snapshot)))
      texts[FileName(section)] += Format("== {}\n{}\n", name, section);
  for (const auto& [section, text] : texts) EXPECT_TRUE(MatchesGolden("report/" + section, text));
  for (const auto& file : std::filesystem::directory_iterator(
           std::filesystem::path(testing::kSourceDir) / "tests/golden/report"))
    EXPECT_TRUE(texts.contains(file.path().stem().string())) << file.path() << " is stale";
}

TEST(CapturedMachines, OneHasAllItsOutput) {
  const v1::NodeSnapshot& snapshot = AllMachines().at("broken");
  EXPECT_TRUE(MatchesGolden("agent/broken_table", Report(snapshot)));
  EXPECT_TRUE(MatchesGolden("agent/broken_json", ToJson(snapshot, true)));
  EXPECT_TRUE(MatchesGolden("agent/broken_yaml", ToYaml(snapshot)));
}

TEST(CapturedMachines, HaveTheseNetdevMaps) {
  std::string brief, verbose;
  for (const auto& [name, snapshot] : AllMachines()) {
    brief += Format("== {}\n{}", name, Ibdev2Netdev(snapshot, false));
    verbose += Format("== {}\n{}", name, Ibdev2Netdev(snapshot, true));
  }
  EXPECT_TRUE(MatchesGolden("agent/ibdev2netdev", brief));
  EXPECT_TRUE(MatchesGolden("agent/ibdev2netdev_v", verbose));
}

// What goes to the controller must be valid, however broken the tree.
TEST(CapturedMachines, SnapshotsSurviveSerialisation) {
  for (const auto& [name, snapshot] : AllMachines()) {
    v1::NodeSnapshot copy;
    ASSERT_TRUE(copy.ParseFromString(snapshot.SerializeAsString())) << name;
    EXPECT_EQ(ToJson(copy, false), ToJson(snapshot, false)) << name;
    EXPECT_EQ(ToJson(copy, false).find("/tmp/"), std::string::npos) << "where the tree lies";
  }
}

}  // namespace
}  // namespace fabric::inspect
