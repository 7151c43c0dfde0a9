// Forwarding tables of dump_lfts and opensm: which LIDs have a route, have none, or are unknown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
        "dump_ucast_routes: Switch 0x0000000000000001\nLID    : Port : Hops : Optimal\n0x0001 : "
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
              ElementsAre(HasSubstr("l.txt:3: expected an entry"),
                          HasSubstr("l.txt:4: expected a table without bad lines")));
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

}  // namespace
}  // namespace fabric::subnet
