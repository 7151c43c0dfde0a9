#include "daemon/files/subnet_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text.h"
#include "subnet/builder.h"
#include "subnet/files/formats.h"
#include "subnet/wire/snapshot_parts.h"
#include "tests/testing/paths.h"
#include "tests/testing/temp_tree.h"

namespace fabric {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string TwoLeaves() {
  std::ifstream file(std::filesystem::path(testing::kSourceDir) /
                     "tests/fixtures/infiniband/two_leaves.txt");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string OneLeaf(std::string_view name, int rail) {
  return Format(
      "Switch 65 \"S-00000000000000a{1}\" # \"{0}\" base port 0 lid 1 lmc 0\n"
      "[1] \"H-000000000000000{1}\"[1](b{1}) # \"n1 mlx5_{1}\" lid 5 4xNDR\n",
      name, rail);
}

std::set<std::string> RulesOf(const SubnetReading& reading, v1::Verdict verdict) {
  std::set<std::string> rules;
  for (const v1::Finding& finding : reading.checks.findings)
    if (finding.verdict() == verdict) rules.insert(finding.rule());
  return rules;
}

TEST(SubnetFiles, AreReadAgainOnceTheyHaveChangedAndStay) {
  testing::TempTree tree;
  const std::string path = tree.path() + "/ib.txt";
  SubnetFiles files(path);
  const auto missing = files.Read();
  ASSERT_TRUE(missing.ok()) << missing.status().message();
  ASSERT_THAT(missing->errors, SizeIs(1));
  EXPECT_EQ(missing->errors[0].code(), Code::kNotFound);
  EXPECT_THAT(missing->errors[0].message(), HasSubstr(path));
  EXPECT_TRUE(missing->topology.empty());
  EXPECT_FALSE(files.ReadWhenChanged().has_value());
  tree.File("ib.txt", "half of");
  EXPECT_FALSE(files.ReadWhenChanged().has_value()) << "it may be being written";
  tree.File("ib.txt", TwoLeaves());
  EXPECT_FALSE(files.ReadWhenChanged().has_value());
  const auto read = files.ReadWhenChanged();
  ASSERT_TRUE(read.has_value());
  ASSERT_TRUE(read->ok()) << read->status().message();
  EXPECT_EQ((*read)->topology.ports(), 9u);
  EXPECT_THAT((*read)->errors, IsEmpty());
  EXPECT_GT((*read)->checks.counts.pass(), 0u);
  EXPECT_FALSE(files.ReadWhenChanged().has_value()) << "once";
  tree.File("ib.txt", "hello\n");
  EXPECT_FALSE(files.ReadWhenChanged().has_value());
  const auto bad = files.ReadWhenChanged();
  ASSERT_TRUE(bad.has_value());
  ASSERT_TRUE(bad->ok());
  EXPECT_THAT((*bad)->errors[0].message(),
              StartsWith(path + ": expected output of fabric-agent subnet read, ibnetdiscover"));
  EXPECT_EQ((*bad)->topology.ports(), 9u) << "the last state stays";
  EXPECT_FALSE(files.ReadWhenChanged().has_value()) << "reported once";
  EXPECT_FALSE(SubnetFiles("").ReadWhenChanged().has_value());
}

// For the web page, which reads names and cables.
TEST(SubnetFiles, HaveAnOutlineWithNamesAndCables) {
  testing::TempTree tree;
  tree.File("rail1/net.txt", OneLeaf("leaf", 1));
  SubnetFiles files(tree.path());
  const auto read = files.Read();
  ASSERT_TRUE(read.ok() && read->files.size() == 1) << read.status().message();
  EXPECT_EQ(read->files[0].info.name(), "rail1");
  const auto encoded = subnet::Decompress(read->files[0].outline, {});
  v1::SubnetSnapshot outline;
  ASSERT_TRUE(encoded.ok() && outline.ParseFromString(*encoded)) << encoded.status().message();
  ASSERT_EQ(outline.nodes_size(), 2);
  const v1::SubnetNode& leaf = outline.nodes(0);
  EXPECT_EQ(leaf.description(), "leaf");
  EXPECT_EQ(leaf.type(), v1::SUBNET_NODE_TYPE_SWITCH);
  ASSERT_EQ(leaf.ports_size(), 1);
  EXPECT_EQ(leaf.ports(0).number(), 1U);
  EXPECT_EQ(outline.nodes(static_cast<int>(leaf.ports(0).peer()) - 1).description(), "n1 mlx5_1");
}

// One directory for each rail. A bad one does not affect the other.
TEST(SubnetFiles, ReadsASubnetFromEachDirectory) {
  testing::TempTree tree;
  tree.File("rail1/net.txt", OneLeaf("leaf", 1) + "[2] \"H-zz\"[1](c) # \"n2\" lid 6 4xNDR\n")
      .File("rail2/net.txt", OneLeaf("leaf", 2))
      .File("rail2/net.txt.new", "half of")
      .File("rail3/net.txt", "nothing\n")
      .File("rail4/.hidden", "nothing\n");
  SubnetFiles files(tree.path());
  const auto read = files.Read();
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->topology.ports(), 2u);
  EXPECT_THAT(read->problems, ElementsAre(HasSubstr("rail1/net.txt:3: expected a cable such as")));
  ASSERT_THAT(read->errors, SizeIs(1));
  EXPECT_THAT(read->errors[0].message(), HasSubstr("rail3/net.txt: expected output of"));
  std::set<std::string> ids;
  for (const v1::Finding& finding : read->checks.findings)
    EXPECT_TRUE(ids.insert(finding.id()).second) << finding.ShortDebugString();
  EXPECT_TRUE(RulesOf(*read, v1::VERDICT_UNKNOWN).contains("subnet_routes_reach"))
      << "no forwarding tables";
  std::filesystem::remove_all(tree.path() + "/rail1");
  const auto less = files.ReadWhenChanged();
  ASSERT_TRUE(less.has_value() && less->ok());
  EXPECT_EQ((*less)->topology.ports(), 1u) << "a removed subnet is gone";
  std::filesystem::remove_all(tree.path());
  EXPECT_FALSE(files.ReadWhenChanged().has_value());
  const auto missing = files.ReadWhenChanged();
  ASSERT_TRUE(missing.has_value() && missing->ok());
  EXPECT_THAT((*missing)->errors, SizeIs(1));
  EXPECT_EQ((*missing)->topology.ports(), 1u) << "the last state stays";
}

TEST(SubnetFiles, ComparesWithTheCablePlan) {
  testing::TempTree tree;
  tree.File("net.txt", OneLeaf("leaf", 1)).File("plan.txt", OneLeaf("leaf", 1));
  SubnetFiles files(tree.path());
  auto read = files.Read();
  ASSERT_TRUE(read.ok());
  EXPECT_THAT(read->errors, IsEmpty());
  EXPECT_FALSE(RulesOf(*read, v1::VERDICT_FAIL).contains("subnet_cables_as_planned"));
  EXPECT_FALSE(RulesOf(*read, v1::VERDICT_UNKNOWN).contains("subnet_cables_as_planned"));
  tree.File("plan.txt",
            "Switch 65 \"S-00000000000000a1\" # \"leaf\" base port 0 lid 1 lmc 0\n"
            "[2] \"H-0000000000000001\"[1](b1) # \"n1 mlx5_1\" lid 5 4xNDR\n");
  read = files.Read();
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(RulesOf(*read, v1::VERDICT_FAIL).contains("subnet_cables_as_planned"));
}

// The reading before is kept for what needs two.
TEST(SubnetFiles, CompareTheActivityOfTheMasterWithTheReadingBefore) {
  SubnetFiles files("");
  const auto unknown_with = [&](std::uint32_t activity, int seconds) {
    subnet::Builder builder;
    EXPECT_TRUE(subnet::AddFile("net.txt", OneLeaf("leaf", 1), builder).ok());
    builder.SetReading({.reader = "mlx5_0 port 1"});
    builder.AddManager({.port_guid = 1,
                        .lid = 1,
                        .priority = 9,
                        .activity = activity,
                        .state = subnet::ManagerState::kMaster});
    files.PutLive("mlx5_0/1", builder.Finish(), WallTime(std::chrono::seconds(seconds)));
    return RulesOf(files.All(), v1::VERDICT_UNKNOWN).contains("subnet_manager_active");
  };
  EXPECT_TRUE(unknown_with(170, 0)) << "the first reading";
  EXPECT_FALSE(unknown_with(171, 60));
  EXPECT_TRUE(unknown_with(171, 120));
  EXPECT_FALSE(unknown_with(180, 180));
}

// The plan of subnets that agents read. A bad one leaves the previous one in use.
TEST(SubnetFiles, CompareLiveSubnetsWithTheirPlan) {
  testing::TempTree tree;
  tree.File("cables.txt", OneLeaf("leaf", 1));
  SubnetFiles files("", {}, tree.path() + "/cables.txt");
  ASSERT_TRUE(files.HasFiles());
  ASSERT_THAT(files.Read()->errors, IsEmpty());
  subnet::Builder builder;
  ASSERT_TRUE(subnet::AddFile("net.txt", OneLeaf("leaf", 1), builder).ok());
  files.PutLive("mlx5_0/1", builder.Finish(), WallTime());
  const auto planned = [](const SubnetReading& reading) {
    return std::pair(RulesOf(reading, v1::VERDICT_FAIL).contains("subnet_cables_as_planned"),
                     RulesOf(reading, v1::VERDICT_UNKNOWN).contains("subnet_cables_as_planned"));
  };
  EXPECT_EQ(planned(files.All()), std::pair(false, false));
  EXPECT_FALSE(files.ReadWhenChanged().has_value());
  tree.File("cables.txt",
            "Switch 65 \"S-00000000000000a1\" # \"leaf\" base port 0 lid 1 lmc 0\n"
            "[2] \"H-0000000000000001\"[1](b1) # \"n1 mlx5_1\" lid 5 4xNDR\n");
  EXPECT_FALSE(files.ReadWhenChanged().has_value()) << "it may still be written";
  ASSERT_TRUE(files.ReadWhenChanged().has_value());
  EXPECT_EQ(planned(files.All()), std::pair(true, false));
  tree.File("cables.txt", "nothing\n");
  EXPECT_FALSE(files.ReadWhenChanged().has_value());
  const auto bad = files.ReadWhenChanged();
  ASSERT_TRUE(bad.has_value() && bad->ok());
  ASSERT_THAT((*bad)->errors, SizeIs(1));
  EXPECT_THAT((*bad)->errors[0].message(), HasSubstr("cables.txt"));
  EXPECT_EQ(planned(files.All()), std::pair(true, false)) << "the last plan stays";
}

TEST(SubnetFiles, TheReadingOfTheNewestFileIsUsed) {
  testing::TempTree tree;
  std::string before = OneLeaf("leaf", 1);
  before.replace(before.find("[1] "), 4, "[2] ");
  tree.File("b.txt", before).File("a.txt", OneLeaf("leaf", 1));
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(tree.path() + "/b.txt", now - 1h);
  std::filesystem::last_write_time(tree.path() + "/a.txt", now);
  SubnetFiles files(tree.path());
  const auto reading = files.Read();
  ASSERT_TRUE(reading.ok() && reading->errors.empty());
  EXPECT_THAT(RulesOf(*reading, v1::VERDICT_FAIL), IsEmpty());
  EXPECT_THAT(reading->problems, ElementsAre(HasSubstr("b.txt:1: expected one reading")));
}

TEST(SubnetFiles, RefusesADirectoryWithoutFiles) {
  testing::TempTree tree;
  EXPECT_THAT(SubnetFiles(tree.path()).Read().status().message(),
              HasSubstr(tree.path() + ": expected a file, saw none"));
}

TEST(SubnetFiles, AreAsOldAsTheOlderOfTheirTwoTimes) {
  const WallTime written(1'800'000'000s);
  EXPECT_EQ(MadeAt("", written), written);
  EXPECT_EQ(MadeAt("2024-01-15 10:30:00", written), written);
  EXPECT_EQ(MadeAt("Sat Nov 21 09:30:12 2099", written), written) << "a clock that is ahead";
  const WallTime old = MadeAt("Tue Jun  5 14:15:10 2007", written);
  EXPECT_NEAR(std::chrono::duration<double>(old.time_since_epoch()).count(), 1'181'052'910, 86'400)
      << "in any time zone";
}

}  // namespace
}  // namespace fabric
