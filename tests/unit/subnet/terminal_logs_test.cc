// Terminal logs as people send them: quoted in a mail, by syslog, or with two readings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/text.h"
#include "subnet/files/formats.h"
#include "subnet/words.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

testing::TestSubnet SmallTree() {
  testing::TestSubnet made = testing::Make(testing::FatTree{.hosts = 2});
  made.Route();
  return made;
}

std::string WithPrefix(std::string_view text, const std::function<std::string(int line)>& prefix) {
  std::string with;
  for (int line = 0; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    with += prefix(line) + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return with;
}

Subnet ReadAll(const std::vector<std::string>& texts) {
  Builder builder;
  for (const std::string& text : texts) {
    const Status added = AddFile("log.txt", text, builder);
    EXPECT_TRUE(added.ok()) << added.message();
  }
  return builder.Finish();
}

TEST(TerminalLogs, CanHaveAPrefixOnEachLine) {
  const testing::TestSubnet made = SmallTree();
  const Subnet plain = ReadAll({made.Ibnetdiscover(), made.Lfts()});
  const std::function<std::string(int)> kPrefixes[] = {
      [](int) { return "> "; }, [](int) { return "> > "; },
      [](int line) { return Format("Nov 28 10:{:02}:07 n1 ibnetdiscover[4711]: ", line % 60); },
      [](int line) { return Format("2026-11-28T10:00:{:02} | ", line % 60); }};
  for (const auto& prefix : kPrefixes) {
    const Subnet subnet =
        ReadAll({WithPrefix(made.Ibnetdiscover(), prefix), WithPrefix(made.Lfts(), prefix)});
    EXPECT_THAT(testing::ProblemTexts(subnet.problems()), IsEmpty()) << prefix(0);
    EXPECT_EQ(subnet.nodes().size(), plain.nodes().size()) << prefix(0);
    EXPECT_EQ(subnet.Cables().size(), plain.Cables().size()) << prefix(0);
    EXPECT_TRUE(subnet.HasRoutes());
  }
}

TEST(TerminalLogs, EmptyLinesOfAQuotedMailCanLackTheBlank) {
  std::string text = WithPrefix(SmallTree().Ibnetdiscover(), [](int) { return "> "; });
  for (std::size_t at = 0; (at = text.find("> \n", at)) != std::string::npos;)
    text.erase(at + 1, 1);
  EXPECT_THAT(testing::ProblemTexts(ReadAll({text}).problems()), IsEmpty());
}

TEST(TerminalLogs, ABadLineKeepsItsNumberBehindAPrefix) {
  const std::string text =
      WithPrefix("\n?what\n" + SmallTree().Ibnetdiscover(), [](int) { return "> "; });
  EXPECT_THAT(testing::ProblemTexts(ReadAll({text}).problems()),
              Contains(HasSubstr("log.txt:2: ")));
}

TEST(TerminalLogs, OfTwoReadingsTheLastOneIsUsed) {
  const testing::TestSubnet before = SmallTree();
  testing::TestSubnet after = SmallTree();
  after.nodes[0].name = "leaf-99";
  const std::string first = before.Ibnetdiscover();
  const std::string second = after.Ibnetdiscover();
  for (const std::string& between : {std::string(), before.Lfts()}) {
    const Subnet subnet = ReadAll({first + between + second});
    EXPECT_THAT(testing::ProblemTexts(subnet.problems()),
                ElementsAre(HasSubstr("log.txt:1: expected one reading of the cables")));
    EXPECT_EQ(subnet.nodes().size(), ReadAll({second}).nodes().size());
    EXPECT_NE(subnet.FindGuid(after.nodes[0].guid), kNoNode);
    EXPECT_EQ(NameOf(subnet.node(subnet.FindGuid(after.nodes[0].guid))), "leaf-99");
  }
}

}  // namespace
}  // namespace fabric::subnet
