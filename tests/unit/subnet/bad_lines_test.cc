// Bad lines in files of real subnets: each is one problem with its line, and the rest is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/plan.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ProblemTexts;
using testing::ReadText;

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

// One text with another in its place, the lines with problems, and the number of cables or routes
// that are left.
struct Damage {
  std::string from;
  std::string to;
  std::vector<int> lines;
  std::size_t left = 0;
};

std::vector<std::string> At(const std::vector<int>& lines) {
  std::vector<std::string> starts;
  for (const int line : lines) starts.push_back(Format("f.txt:{}: expected ", line));
  return starts;
}

std::vector<std::string> StartsOf(const Problems& problems) {
  std::vector<std::string> starts;
  for (const std::string& text : ProblemTexts(problems))
    starts.push_back(text.substr(0, text.find("expected ") + 9));
  return starts;
}

constexpr const char* kNet =
    "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x100\nswitchguid=0x100(100)\n"
    "Switch\t4 \"S-0000000000000100\"\t\t# \"MF0;leaf-1:MQM9700/U1\" enhanced port 0 lid 1 lmc 0\n"
    "[1]\t\"H-0000000000000200\"[1](201)\t\t# \"gpu-1 mlx5_0\" lid 2 4xNDR\n"
    "[2]\t\"H-0000000000000300\"[1](301)\t\t# \"gpu-2 mlx5_0\" lid 3 4xNDR\n\n"
    "vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x200\ncaguid=0x200\n"
    "Ca\t1 \"H-0000000000000200\"\t\t# \"gpu-1 mlx5_0\"\n"
    "[1](201)\t\"S-0000000000000100\"[1]\t\t# lid 2 lmc 0 \"leaf-1\" lid 1 4xNDR\n\n"
    "vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x300\ncaguid=0x300\n"
    "Ca\t1 \"H-0000000000000300\"\t\t# \"gpu-2 mlx5_0\"\n"
    "[1](301)\t\"S-0000000000000100\"[2]\t\t# lid 3 lmc 0 \"leaf-1\" lid 1 4xNDR\n";

TEST(BadLines, OfIbnetdiscover) {
  const Damage damages[] = {
      {"lid 2 4xNDR", "lid 65535 4xFDR10", {}, 2},
      {"lid 3 4xNDR", "lid 0 16xZDR s=? w=?", {}, 2},
      {"4xNDR\n\n",
       "4xNDR\nibwarn: [4711] mad_rpc: _do_madrpc failed\n[root@head ~]# \n",
       {8, 9},
       2},
      {"[2]\t\"H-", "[999]\t\"H-", {7}, 2},
      {"[1](301)\t\"S-0000000000000100\"[2]", "[1](301)\t\"S-00000000000001", {21}, 2},
      {"\"H-0000000000000300\"[1](301)", "\"H-0000000000000999\"[1](99a)", {}, 3},
  };
  for (const Damage& damage : damages) {
    const Subnet subnet = ReadText(Replaced(kNet, damage.from, damage.to), "f.txt");
    EXPECT_EQ(StartsOf(subnet.problems()), At(damage.lines)) << damage.to;
    EXPECT_EQ(subnet.Cables().size(), damage.left) << damage.to;
  }
}

// Routes of LIDs 1 to 3 that are known.
std::size_t RoutesOf(const Subnet& subnet) {
  std::size_t known = 0;
  for (const Node& node : subnet.nodes())
    for (std::uint32_t lid = 1; lid <= 3; ++lid) {
      const auto port = node.RouteTo(lid);
      known += port != kUnknownRoute && port != kNoRoute ? 1 : 0;
    }
  return known;
}

void ExpectRoutes(const std::string& text, std::initializer_list<Damage> damages) {
  for (const Damage& damage : damages) {
    const Subnet subnet = ReadText(Replaced(text, damage.from, damage.to), "f.txt");
    EXPECT_EQ(StartsOf(subnet.problems()), At(damage.lines)) << damage.to;
    EXPECT_EQ(RoutesOf(subnet), damage.left) << damage.to;
  }
}

TEST(BadLines, OfDumpLfts) {
  ExpectRoutes(
      "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0000000000000100 (MF0;leaf-1:MQM9700/U1):\n"
      "  Lid  Out   Destination\n       Port     Info \n"
      "0x0001 000 : (Switch portguid 0x0000000000000100: 'MF0;leaf-1:MQM9700/U1')\n"
      "0x0002 001 : (Channel Adapter portguid 0x0000000000000201: 'gpu-1 mlx5_0')\n"
      "0x0003 002 : (Channel Adapter portguid 0x0000000000000301: 'gpu-2 mlx5_0')\n"
      "3 valid lids dumped \n",
      {{"0x0002 001", "0x0002 999", {5}, 2},
       {"0x0002 001", "ibwarn: [33] _do_madrpc: recv failed: timed out\n0x0002 001", {5}, 3},
       {"0x0003 002", "0xGGGG 002", {6}, 2},
       {"0x0001 000", "0xffff 000", {4}, 2},
       {"3 valid", "[root@head ~]# \n3 valid", {7}, 3},
       {"3 valid", "9 valid", {7}, 3}});
}

TEST(BadLines, OfFdbs) {
  ExpectRoutes(
      "dump_ucast_routes: Switch 0x0000000000000100 MF0;leaf-1:MQM9700/U1\n"
      "LID    : Port : Hops : Optimal\n0x0001 : 000  : 00   : yes\n0x0002 : 001  : 01   : yes\n"
      "0x0003 : 002  : 01   : yes\n",
      {{": 001 ", ": 301 ", {4}, 2},
       {"0x0002 :", "Nov 28 10:00:00 123456 [AB] 0x02 -> osm_log: noise\n0x0002 :", {4}, 3},
       {"0x0003 : 002  : 01   : yes", "0x0003 : 002", {}, 3},
       {"0x0001 :", "0x0000 :", {3}, 2},
       {"0x0003 :", "0xffff :", {5}, 2},
       {"0x0003 : 002", "0x0003 : \x1b[1m", {5}, 2}});
}

TEST(BadLines, OfTheListOfOpensm) {
  const auto line = [](const char* lid, const char* port) {
    return Format(
        "{{ SW Ports:04 SystemGUID:0000000000000100 NodeGUID:0000000000000100 "
        "PortGUID:0000000000000100 VenID:000002C9 DevID:D2F20000 Rev:000000A0 {{leaf-1}} LID:0001 "
        "PN:0{1} }} {{ CA Ports:01 SystemGUID:0000000000000{0}00 NodeGUID:0000000000000{0}00 "
        "PortGUID:0000000000000{0}01 VenID:000002C9 DevID:10210000 Rev:00000000 {{gpu-{1} mlx5_0}} "
        "LID:000{0} PN:01 }} PHY=4x LOG=ACT SPD=NDR\n",
        lid, port);
  };
  const std::string text = line("2", "1") + line("3", "2");
  const Damage damages[] = {
      {"LID:0003", "LID:FFFF", {}, 2},
      {"PHY=4x LOG=ACT SPD=NDR", "PHY=9x LOG=??? SPD=??", {}, 2},
      {"{ SW", "ibwarn: noise\n{ SW", {1}, 2},
      {"PN:02 }", "PN:FFF }", {2}, 1},
      {"SPD=NDR\n{", "SPD=NDR\n[root@head ~]# \n{", {2}, 2},
  };
  for (const Damage& damage : damages) {
    const Subnet subnet = ReadText(Replaced(text, damage.from, damage.to), "f.txt");
    EXPECT_EQ(StartsOf(subnet.problems()), At(damage.lines)) << damage.to;
    EXPECT_EQ(subnet.Cables().size(), damage.left) << damage.to;
  }
}

void ExpectPlan(const std::string& text, std::initializer_list<Damage> damages) {
  for (const Damage& damage : damages) {
    const auto plan = ReadPlan("f.txt", Replaced(text, damage.from, damage.to));
    ASSERT_TRUE(plan.ok()) << damage.to << plan.status().message();
    EXPECT_EQ(StartsOf(plan->problems), At(damage.lines)) << damage.to;
    EXPECT_EQ(plan->cables.size(), damage.left) << damage.to;
  }
}

TEST(BadLines, OfNdtPlans) {
  ExpectPlan(
      "#StartDevice,StartPort,EndDevice,EndPort,LinkType\nleaf-1,Port 1,gpu-1 mlx5_0,Port 1,Data\n"
      "leaf-1,Port 2,gpu-2 mlx5_0,Port 1,Data\n",
      {{"Port 1,gpu-1", "Port 0,gpu-1", {2}, 1},
       {"leaf-1,Port 2", "[root@head ~]# cat plan\nleaf-1,Port 2", {3}, 2},
       {"leaf-1,Port 2", ",,,,\nleaf-1,Port 2", {}, 2},
       {"leaf-1,Port 2", "\"leaf-1,Port 2", {3}, 1},
       {"leaf-1,Port 1", "leaf-1,Port 1/1/3", {2}, 1},
       {"gpu-2 mlx5_0,Port 1", "leaf-1,Port 2", {3}, 1}});
}

TEST(BadLines, OfTopoFiles) {
  ExpectPlan(
      "MQM9700 leaf-1\n   P1 -4x-50G-> HCA_mlx5_0 gpu-1 mlx5_0/P1\n"
      "   P2 -4x-50G-> HCA_mlx5_0 gpu-2 mlx5_0/P1\n",
      {{"gpu-1 mlx5_0/P1", "gpu-1 mlx5_0/P999", {2}, 1},
       {"   P1 -4x", "   P255 -4x", {2}, 1},
       {"   P2 -4x-50G-> HCA_mlx5_0 gpu-2 mlx5_0/P1", "   P2 -4x->", {3}, 1},
       {"mlx5_0/P1\n", "mlx5_0/P1\nMQM9700\n", {3, 4}, 1},
       {"MQM9700 leaf-1", "ibwarn: noise\nMQM9700 leaf-1", {1}, 2}});
}

// The cables below belong to no switch then, and not to one of the name "~]#".
TEST(BadLines, APromptInATopoFileIsNoSwitch) {
  for (const std::string noise : {"[root@head ~]#", "$ exit", "ibwarn: [33]"}) {
    const auto plan =
        ReadPlan("f.txt", "MQM9700 leaf-1\n   P1 -4x-50G-> HCA_mlx5_0 gpu-1 mlx5_0/P1\n" + noise +
                              "\n   P2 -4x-50G-> HCA_mlx5_0 gpu-2 mlx5_0/P1\n");
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_THAT(ProblemTexts(plan->problems),
                ElementsAre(HasSubstr("f.txt:3: expected 'MODEL NAME'"),
                            HasSubstr("f.txt:4: expected a line 'MODEL NAME' of the switch")))
        << noise;
    EXPECT_EQ(plan->cables.size(), 1U);
  }
}

// The row of the cable can be the one that was not read.
TEST(BadLines, OfAPlanMakeNoCableUnplanned) {
  const Subnet subnet = ReadText(kNet, "f.txt");
  const std::string good = "leaf-1,Port 1,gpu-1 mlx5_0,Port 1\nleaf-2,Port 1,gpu-3 mlx5_0,Port 1\n";
  const std::string head = "StartDevice,StartPort,EndDevice,EndPort\n";
  for (const auto& [row, unplanned] :
       {std::pair<std::string, std::size_t>("leaf-1,Port 0,gpu-2 mlx5_0,Port 1\n", 0), {"", 1}}) {
    const auto plan = ReadPlan("p.ndt", head + good + row);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    std::vector<std::string> failed;
    for (const v1::Finding& finding : Evaluate(subnet, &*plan, {}).findings)
      if (finding.rule() == "subnet_cables_as_planned" && finding.verdict() == v1::VERDICT_FAIL &&
          finding.title().starts_with("unplanned"))
        failed.push_back(finding.title());
    EXPECT_EQ(failed.size(), unplanned) << row;
  }
}

}  // namespace
}  // namespace fabric::subnet
