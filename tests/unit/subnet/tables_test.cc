// Forwarding tables of dump_lfts and opensm: which LIDs have a route, have none, or are unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ProblemTexts;
using testing::ReadText;

TEST(Tables, FormatsOfDumpLftsAndOpensmGiveTheSameTable) {
  for (const std::string text :
       {"Unicast lids [0x0-0x3] of switch DR path slid 0; dlid 0; 0,1 guid 0x0000000000000001 "
        "(leaf-1):\n  Lid  Out   Destination\n       Port     Info \n0x0001 000 : (Switch)\n0x0003 "
        "017 : (Channel Adapter)\n2 valid lids dumped \n",
        "Unicast lids [0-3] of switch Lid 1 guid 0x0000000000000001 ('leaf-1'):\n0x0001 000 # "
        "Switch\n0x0003 017 # Channel Adapter\n3 lids dumped\n",
        "osm_ucast_mgr_dump_ucast_routes: Switch 0x0000000000000001\nLID    : Port : Hops : "
        "Optimal\n0x0001 : "
        "000 "
        " : 00   : yes\n0x0002 : UNREACHABLE\n0x0003 : 017  : 01   : yes\n"}) {
    const Subnet subnet = ReadText(text, "lfts.txt");
    EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
    ASSERT_EQ(subnet.FindGuid(1), 0U);
    EXPECT_EQ(subnet.node(0).RouteTo(1), 0);
    EXPECT_EQ(subnet.node(0).RouteTo(2), kNoRoute);
    EXPECT_EQ(subnet.node(0).RouteTo(3), 17);
  }
}

TEST(Tables, OfATableThatIsCutOffMissingLidsAreUnknown) {
  const Subnet subnet =
      ReadText("Unicast lids [0-3] of switch Lid 1 guid 0x1 ('a'):\n0x0001 000 # x\n", "l.txt");
  EXPECT_THAT(ProblemTexts(subnet.problems()),
              ElementsAre(HasSubstr("LIDs without an entry are unknown")));
  EXPECT_EQ(subnet.node(0).RouteTo(2), kUnknownRoute);
  const Subnet garbage = ReadText(
      "Unicast lids [0-3] of switch Lid 1 guid 0x1 ('a'):\n0x0001 000 # x\n0x00zz\n3 lids dumped\n",
      "l.txt");
  EXPECT_THAT(ProblemTexts(garbage.problems()),
              ElementsAre(HasSubstr("l.txt:3: expected an entry")));
  EXPECT_EQ(garbage.node(0).RouteTo(2), kUnknownRoute);
}

// The trailer of opensm has the highest LID, not the number of entries.
TEST(Tables, OfOpensmCanHaveLidsWithoutAnEntry) {
  for (const std::string head : {"[0-100]", "[0x0-0x64]"}) {
    const Subnet subnet =
        ReadText("Unicast lids " + head +
                     " of switch Lid 2 guid 0x1 ('a'):\n0x0002 000 # Switch\n0x0064 060 # Channel "
                     "Adapter\n100 lids dumped\n",
                 "opensm-lfts.dump");
    EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
    EXPECT_EQ(subnet.node(0).RouteTo(100), 60);
    EXPECT_EQ(subnet.node(0).RouteTo(3), kNoRoute);
    EXPECT_EQ(subnet.node(0).RouteTo(101), kNoRoute);
  }
}

// A table of dump_lfts with entries for these LIDs.
std::string Dumped(std::string_view range, std::uint64_t guid,
                   const std::vector<std::uint32_t>& lids) {
  std::string text = Format(
      "Unicast lids [{}] of switch DR path slid 0; dlid 0; 0,1 guid 0x{:016x} (s-{}):\n"
      "  Lid  Out   Destination\n       Port     Info \n",
      range, guid, guid);
  for (const std::uint32_t lid : lids)
    text += Format("0x{:04x} 001 : (Channel Adapter portguid 0x0000000000000009: 'n')\n", lid);
  return text + Format("{} valid lids dumped \n", lids.size());
}

// dump_lfts reads blocks up to the one before the last LID, if that begins a block.
TEST(Tables, OfDumpLftsTheLastLidIsUnknownWhereItBeginsABlock) {
  const Subnet subnet =
      ReadText(Dumped("0x0-0x40", 1, {1, 2}) + Dumped("0x0-0x80", 2, {1, 64}), "lfts.txt");
  EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
  EXPECT_EQ(subnet.node(0).RouteTo(3), kNoRoute);
  EXPECT_EQ(subnet.node(0).RouteTo(64), kUnknownRoute);
  EXPECT_EQ(subnet.node(1).RouteTo(127), kNoRoute);
  EXPECT_EQ(subnet.node(1).RouteTo(128), kUnknownRoute);
}

TEST(Tables, OfDumpLftsWithoutTheLastLidDoNotFail) {
  testing::TestSubnet made = testing::Make(testing::FatTree{.leaves = 2, .hosts = 30});
  ASSERT_EQ(made.nodes.back().lid, 64U);
  made.Route();
  std::vector<std::string> reach;
  for (const v1::Finding& finding : Evaluate(made.Read(), nullptr, {}).findings) {
    EXPECT_NE(finding.verdict(), v1::VERDICT_FAIL) << finding.title();
    if (finding.rule() == "subnet_routes_reach") reach.push_back(finding.title());
  }
  EXPECT_THAT(reach, ElementsAre(HasSubstr("59 pairs use entries that no file has")));
}

TEST(Tables, OfDumpLftsWithARangeOtherLidsAreUnknown) {
  const Subnet subnet =
      ReadText(Dumped("0x10-0x20", 1, {16, 18}) + Dumped("0x10-0x14", 2, {16, 18}), "lfts.txt");
  EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
  EXPECT_EQ(subnet.node(0).RouteTo(15), kUnknownRoute);
  EXPECT_EQ(subnet.node(0).RouteTo(17), kNoRoute);
  EXPECT_EQ(subnet.node(0).RouteTo(33), kUnknownRoute);
  // The last LID of the command, or the end of the table: both are possible.
  EXPECT_EQ(subnet.node(1).RouteTo(21), kUnknownRoute);
  EXPECT_EQ(subnet.node(1).RouteTo(33), kUnknownRoute);
}

// The end of the command is cut to the end of the table.
TEST(Tables, OfDumpLftsLidsAboveAShorterTableHaveNoRoute) {
  const Subnet subnet = ReadText(Dumped("0x0-0x8", 1, {1}) + Dumped("0x0-0x5", 2, {1}), "lfts.txt");
  EXPECT_EQ(subnet.node(0).RouteTo(9), kUnknownRoute) << "perhaps 'dump_lfts 0 8'";
  EXPECT_EQ(subnet.node(1).RouteTo(8), kNoRoute);
  EXPECT_EQ(subnet.node(1).RouteTo(9), kUnknownRoute);
}

TEST(Tables, OfDumpLftsABlockThatWasNotReadIsUnknown) {
  const std::string failed =
      "SubnGet(LFT) failed on switch 's-1' DR path slid 0; dlid 0; 0,1 Node GUID 0x1 SMA LID 3; "
      "MAD status 0x6e AM 0x1\n";
  const std::string table = Dumped("0x0-0x90", 1, {1, 65, 129});
  for (const std::string& text : {failed + table, table + failed}) {
    const Subnet subnet = ReadText(text, "lfts.txt");
    EXPECT_THAT(ProblemTexts(subnet.problems()),
                ElementsAre(HasSubstr("expected LIDs 64 to 127 of switch 0x0000000000000001, saw "
                                      "that dump_lfts could not read them")));
    EXPECT_EQ(subnet.node(0).RouteTo(63), kNoRoute);
    EXPECT_EQ(subnet.node(0).RouteTo(65), kUnknownRoute) << "the entries are of the block before";
    EXPECT_EQ(subnet.node(0).RouteTo(66), kUnknownRoute);
    EXPECT_EQ(subnet.node(0).RouteTo(128), kNoRoute);
    EXPECT_EQ(subnet.node(0).RouteTo(129), 1);
  }
}

}  // namespace
}  // namespace fabric::subnet
