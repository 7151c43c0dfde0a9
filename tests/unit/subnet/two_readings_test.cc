// Files of one subnet from different days: the later one is used, and one problem names both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

testing::TestSubnet Monday() {
  testing::TestSubnet made = testing::Make(testing::FatTree{.hosts = 2});
  made.Route();
  return made;
}

// The cables of two hosts were exchanged.
testing::TestSubnet Tuesday() {
  testing::TestSubnet made = Monday();
  std::swap(made.cables[0].to, made.cables[3].to);
  made.Route();
  return made;
}

// A cable between switches was moved to another port.
testing::TestSubnet Wednesday() {
  testing::TestSubnet made = Monday();
  for (testing::TestCable& cable : made.cables)
    if (made.nodes[cable.to].is_switch) {
      cable.from_port = 60;
      break;
    }
  made.Route();
  return made;
}

std::string WithDate(std::string_view day, std::string text) {
  constexpr std::string_view kDay = "Sat Nov 21";
  return text.replace(text.find(kDay), kDay.size(), day);
}

struct Judged {
  std::vector<std::string> failed;  // Rules
  std::vector<std::string> problems;
  std::size_t cables = 0;
  bool has_routes = false;
};

using Files = std::vector<std::pair<std::string, std::string>>;

Judged Judge(const Files& files) {
  std::vector<std::string> names;
  for (const auto& [name, text] : files) names.push_back(name);
  const auto subnet = ReadFiles(names, [&](const std::string& name) -> Result<std::string> {
    return std::ranges::find(files, name, &Files::value_type::first)->second;
  });
  EXPECT_TRUE(subnet.ok()) << subnet.status().message();
  if (!subnet.ok()) return {};
  Judged judged{.failed = {},
                .problems = testing::ProblemTexts(subnet->problems()),
                .cables = subnet->Cables().size(),
                .has_routes = subnet->HasRoutes()};
  for (const v1::Finding& finding : Evaluate(*subnet, nullptr, {}).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) judged.failed.push_back(finding.rule());
  return judged;
}

TEST(TwoReadings, OfIbnetdiscoverInTwoFilesTheLastOneIsUsed) {
  for (const testing::TestSubnet& after : {Tuesday(), Wednesday()}) {
    const Judged judged =
        Judge({{"a.txt", Monday().Ibnetdiscover()}, {"b.txt", after.Ibnetdiscover()}});
    EXPECT_THAT(judged.failed, IsEmpty());
    EXPECT_THAT(judged.problems,
                ElementsAre(AllOf(HasSubstr("a.txt:1: expected one reading of the cables"),
                                  HasSubstr("b.txt:1"))));
    EXPECT_EQ(judged.cables, after.cables.size());
  }
}

TEST(TwoReadings, OfIbnetdiscoverTheirDatesDecide) {
  const Judged judged = Judge({{"a.txt", WithDate("Tue Nov 24", Tuesday().Ibnetdiscover())},
                               {"b.txt", WithDate("Mon Nov 23", Monday().Ibnetdiscover())}});
  EXPECT_THAT(judged.failed, IsEmpty());
  EXPECT_THAT(judged.problems,
              ElementsAre(AllOf(HasSubstr("b.txt:1: expected one reading of the cables"),
                                HasSubstr("a.txt:1"))));
}

TEST(TwoReadings, OfDifferentFormatsWithOtherCablesTheLastOneIsUsed) {
  const Judged judged =
      Judge({{"opensm-subnet.lst", Monday().SubnetList()}, {"net.txt", Tuesday().Ibnetdiscover()}});
  EXPECT_THAT(judged.failed, IsEmpty());
  EXPECT_THAT(judged.problems,
              ElementsAre(AllOf(HasSubstr("opensm-subnet.lst:1: "), HasSubstr("net.txt:1"))));
}

TEST(TwoReadings, OfDifferentFormatsWithTheSameCablesAreBothUsed) {
  const Judged judged = Judge({{"opensm-subnet.lst", Monday().SubnetList()},
                               {"net.txt", Monday().Ibnetdiscover()},
                               {"lfts.txt", Monday().Lfts()}});
  EXPECT_THAT(judged.failed, IsEmpty());
  EXPECT_THAT(judged.problems, IsEmpty());
  EXPECT_TRUE(judged.has_routes);
}

TEST(TwoReadings, OfOpensmsListTheLastOneIsUsed) {
  const Judged judged = Judge({{"mon/opensm-subnet.lst", Monday().SubnetList()},
                               {"tue/opensm-subnet.lst", Tuesday().SubnetList()}});
  EXPECT_THAT(judged.failed, IsEmpty());
  EXPECT_THAT(judged.problems, ElementsAre(AllOf(HasSubstr("mon/opensm-subnet.lst:1: "),
                                                 HasSubstr("tue/opensm-subnet.lst:1"))));
}

// Of the switches of the first file, too, that the last one does not have.
TEST(TwoReadings, OfTablesTheLastOnesAreUsed) {
  const Judged judged = Judge({{"net.txt", Tuesday().Ibnetdiscover()},
                               {"lfts-mon.txt", Monday().Lfts()},
                               {"lfts-tue.txt", Tuesday().Lfts()}});
  EXPECT_THAT(judged.failed, IsEmpty());
  EXPECT_THAT(judged.problems, ElementsAre(AllOf(HasSubstr("lfts-mon.txt:1: expected tables"),
                                                 HasSubstr("lfts-tue.txt:1"))));
  EXPECT_TRUE(judged.has_routes);
  std::string part = Tuesday().Lfts();
  part.resize(part.find("Unicast lids", part.find("Unicast lids", 9) + 9));
  EXPECT_THAT(Judge({{"net.txt", Tuesday().Ibnetdiscover()},
                     {"lfts-mon.txt", Monday().Lfts()},
                     {"lfts-tue.txt", part}})
                  .failed,
              IsEmpty());
}

TEST(TwoReadings, OfTablesInOneFileTheLastOnesAreUsed) {
  const Judged judged = Judge(
      {{"net.txt", Tuesday().Ibnetdiscover()}, {"lfts.txt", Monday().Lfts() + Tuesday().Lfts()}});
  EXPECT_THAT(judged.failed, IsEmpty());
  EXPECT_THAT(judged.problems, ElementsAre(HasSubstr("lfts.txt:1: expected tables")));
  EXPECT_TRUE(judged.has_routes);
}

TEST(TwoReadings, OfEqualTablesMakeNoProblem) {
  const Judged judged = Judge({{"net.txt", Monday().Ibnetdiscover()},
                               {"a.txt", Monday().Lfts()},
                               {"b.txt", Monday().Lfts()}});
  EXPECT_THAT(judged.problems, IsEmpty());
  EXPECT_TRUE(judged.has_routes);
}

// Whether the tables belong to the first or to the last reading of the cables is not known.
TEST(TwoReadings, TablesOfAnUnknownDayAreNotUsed) {
  for (const testing::TestSubnet& tables : {Monday(), Tuesday()}) {
    const Judged judged = Judge({{"mon.txt", Monday().Ibnetdiscover()},
                                 {"lfts.txt", tables.Lfts()},
                                 {"tue.txt", Tuesday().Ibnetdiscover()}});
    EXPECT_THAT(judged.failed, IsEmpty());
    EXPECT_FALSE(judged.has_routes);
    EXPECT_THAT(judged.problems, Contains(HasSubstr("forwarding tables: expected ")));
  }
  // Of the same day, and of the last terminal session.
  for (const Files& files : {Files{{"mon.txt", Monday().Ibnetdiscover() + Monday().Lfts()},
                                   {"tue.txt", Tuesday().Ibnetdiscover() + Tuesday().Lfts()}},
                             Files{{"mon.txt", Monday().Ibnetdiscover()},
                                   {"tue.txt", Tuesday().Ibnetdiscover() + Tuesday().Lfts()}}}) {
    const Judged judged = Judge(files);
    EXPECT_THAT(judged.failed, IsEmpty());
    EXPECT_TRUE(judged.has_routes);
  }
}

// The two ports of an adapter are in two subnets, and both have its GUID.
TEST(TwoReadings, OfTwoSubnetsWithOneAdapterAreNotOfOneSubnet) {
  const auto rail = [](std::uint64_t guid, std::uint32_t port) {
    testing::TestSubnet made;
    const std::uint32_t leaf = made.AddSwitch(Format("leaf-{}", guid));
    made.nodes[leaf].guid = guid;
    const std::uint32_t host = made.AddHost("gpu-1 mlx5_0");
    made.nodes[host].guid = 0x77;
    made.nodes[host].ports = 2;
    made.cables.push_back({.from = leaf, .from_port = 1, .to = host, .to_port = port});
    return made.Ibnetdiscover();
  };
  const Judged judged = Judge({{"a.txt", rail(0x1001, 1)}, {"b.txt", rail(0x1002, 2)}});
  EXPECT_THAT(judged.problems, IsEmpty());
  EXPECT_EQ(judged.cables, 2U);
}

}  // namespace
}  // namespace fabric::subnet
