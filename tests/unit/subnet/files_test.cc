// Files of subnets: what is read, and what bad lines do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "subnet/builder.h"
#include "subnet/checks/check.h"
#include "subnet/exports/exports.h"
#include "subnet/files/formats.h"
#include "subnet/plan.h"
#include "subnet/words.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using testing::ProblemTexts;
using testing::ReadText;

constexpr std::string_view kSwitchA =
    "Switch\t4 \"S-0000000000000001\"\t\t# \"MF0;leaf-1:MQM8700/U1\" enhanced port 0 lid 1 lmc 0\n";

TEST(Ibnetdiscover, ReadsNodesCablesLidsAndRates) {
  testing::TestSubnet made = testing::Make(testing::FatTree{.leaves = 2, .spines = 1, .hosts = 1});
  const Subnet subnet = made.Read();
  EXPECT_THAT(subnet.problems().kept(), IsEmpty());
  EXPECT_EQ(subnet.CountNodes(NodeType::kSwitch), 3U);
  ASSERT_THAT(subnet.Cables(), SizeIs(4));
  EXPECT_EQ(CableWords(subnet, subnet.Cables()[0]),
            "switch \"leaf-1\" port 1 - node \"gpu-1\" mlx5_0 port 1");
  const End host = subnet.port({0, 1}).Peer();
  EXPECT_EQ(subnet.port(host).lid, 4);
  EXPECT_EQ(ToString(subnet.port(host).rate), "4xHDR");
  EXPECT_EQ(subnet.node(0).device_id, 0xd2f2U);
}

TEST(Ibnetdiscover, ReadsATerminalLogThatLostItsTabs) {
  const Subnet subnet = ReadText(
      "=~=~= PuTTY log 2021.06.15 =~=~=\r\n[root@host ~]# ibnetdiscover\r\nvendid=0x2c9\r\n"
      "Switch4 \"S-0000000000000001\"# \"MF0;leaf-1:MQM8700/U1\" enhanced port 0 lid 1 lmc 0\r\n"
      "[1]\"H-0000000000000002\"[1](3) # \"n1 ibp11s0f0\" lid 65535 4xFDR10\r\n"
      "ibwarn: [8] mad_rpc: timeout\r\n"
      "[2]\"H-0000000000000004\"[1](5) # \"n2 ibp11s0f0\" lid 0 4x???\r\n");
  EXPECT_THAT(ProblemTexts(subnet.problems()),
              ElementsAre(HasSubstr("net.txt:1: expected a line of ibnetdiscover output, saw"),
                          HasSubstr("net.txt:2: expected a cable such as [1]"),
                          HasSubstr("net.txt:6: expected a line of ibnetdiscover output")));
  ASSERT_THAT(subnet.Cables(), SizeIs(2));
  EXPECT_EQ(subnet.node(0).port_count, 4U);
  EXPECT_EQ(subnet.port(subnet.port({0, 1}).Peer()).lid, 65535);
  EXPECT_EQ(ToString(subnet.port({0, 1}).rate), "4xFDR10");
  EXPECT_EQ(ToString(subnet.port({0, 2}).rate), "4x?");
  EXPECT_FALSE(subnet.port({0, 2}).rate.known());
}

TEST(SubnetFiles, ATerminalLogCanHaveTheOutputOfSeveralCommands) {
  const Subnet subnet = ReadText(
      "\xef\xbb\xbf$ ibnetdiscover\n\x1b[?2004l\r" + std::string(kSwitchA) +
      "[1]\t\"S-0000000000000009\"[7]\t# \"leaf-9\" lid 9 4xHDR\n"
      "--More--\r        \r[2]\t\"H-0000000000000004\"[1](5)\t# \"n2 mlx5_0\" lid 8 2xHDR\n"
      "\x1b[32mroot@h\x1b[0m:~# dump_lfts\n"
      "Unicast lids [0x0-0x8] of switch Lid 1 guid 0x0000000000000001 (leaf-1):\n"
      "  Lid  Out   Destination\n0x0008 002 : (x)\nibwarn: [7] timeout\n1 valid lids dumped\n"
      "$ sminfo\nsminfo: sm lid 8 sm guid 0x5, activity count 1 priority 10 state 3 "
      "SMINFO_MASTER\n");
  EXPECT_THAT(ProblemTexts(subnet.problems()),
              ElementsAre(HasSubstr("net.txt:1: "), HasSubstr("net.txt:5: "),
                          HasSubstr("net.txt:9: "), HasSubstr("net.txt:11: ")));
  ASSERT_THAT(subnet.Cables(), SizeIs(2));
  EXPECT_EQ(ToString(subnet.port({0, 2}).rate), "2xHDR");
  EXPECT_EQ(subnet.node(0).RouteTo(8), 2);
  ASSERT_THAT(subnet.managers(), SizeIs(1));
}

TEST(Ibnetdiscover, ABadLineOfANodeSkipsItsCablesWithOneProblem) {
  const Subnet subnet =
      ReadText(std::string(kSwitchA) +
               "[1]\t\"S-0000000000000009\"[7]\t# \"leaf-9\" lid 9 4xHDR\n"
               "Switch\tx \"S-0000000000000009\"\n[7]\t\"S-0000000000000001\"[1]\n"
               "[8]\t\"S-0000000000000001\"[2]\n");
  EXPECT_EQ(subnet.problems().count(), 1U);
  EXPECT_THAT(subnet.Cables(), SizeIs(1));
}

TEST(Ibnetdiscover, KeepsALimitedNumberOfProblems) {
  std::string text(kSwitchA);
  for (int i = 0; i < 1000; ++i) text += "garbage\n";
  text += "[1]\t\"S-0000000000000009\"[7]\n";
  const Subnet subnet = ReadText(text);
  EXPECT_EQ(subnet.problems().count(), 1000U);
  EXPECT_THAT(subnet.problems().kept(), SizeIs(Problems::kKept));
}

TEST(SubnetFiles, UnknownFormatsAreRefusedWithTheFile) {
  Builder builder;
  const Status status = AddFile("a.txt", "hello\n", builder);
  EXPECT_THAT(status.message(),
              HasSubstr("a.txt: expected output of fabric-agent subnet read, ibnetdiscover, "
                        "dump_lfts"));
  EXPECT_THAT(AddFile("p.ndt", "#StartDevice,StartPort,EndDevice,EndPort\n", builder).message(),
              HasSubstr("saw a cable plan (NDT plan); use --plan"));
}

Result<Subnet> ReadAll(const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<std::string> names;
  for (const auto& [name, text] : files) names.push_back(name);
  return ReadFiles(names, [&](const std::string& name) -> Result<std::string> {
    for (const auto& [known, text] : files)
      if (known == name) return text;
    return Status(Code::kNotFound, name + ": No such file or directory");
  });
}

TEST(SubnetFiles, AFileThatCannotBeUsedIsOneProblem) {
  const std::string net = testing::Make(testing::FatTree{.leaves = 2, .hosts = 1}).Ibnetdiscover();
  const auto subnet = ReadAll({{"README", "Files of the fabric.\n"},
                               {"net.txt", net},
                               {"sminfo.txt", ""},
                               {"plan.csv", "StartDevice,StartPort,EndDevice,EndPort\n"}});
  ASSERT_TRUE(subnet.ok()) << subnet.status().message();
  EXPECT_THAT(ProblemTexts(subnet->problems()),
              ElementsAre(::testing::StartsWith("README: expected output of fabric-agent"),
                          ::testing::AllOf(::testing::StartsWith("sminfo.txt: expected output of"),
                                           HasSubstr("saw an empty file")),
                          HasSubstr("plan.csv: expected a file of a subnet, saw a cable plan")));
  EXPECT_THAT(subnet->Cables(), SizeIs(6));
  EXPECT_THAT(ReadAll({{"README", "Files.\n"}}).status().message(),
              HasSubstr("README: expected output of fabric-agent"));
  EXPECT_THAT(ReadAll({{"net.txt", net}, {"typo", ""}}).ok(), true);
  EXPECT_EQ(ReadFiles({"net.txt", "typo"},
                      [&](const std::string& name) -> Result<std::string> {
                        if (name == "net.txt") return net;
                        return Status(Code::kNotFound, name + ": No such file or directory");
                      })
                .status()
                .code(),
            Code::kNotFound)
      << "a name of the command line that is wrong";
}

TEST(SubnetFiles, APartCanBeginBehindColours) {
  const Subnet subnet =
      ReadText(std::string(kSwitchA) +
               "[1]\t\"S-0000000000000009\"[7]\t# \"leaf-9\" lid 9 4xHDR\n"
               "\x1b[1mUnicast lids [0-9] of switch Lid 1 guid 0x1 ('a'):\x1b[0m\n"
               "0x0009 001 # x\n9 lids dumped\n");
  EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
  EXPECT_EQ(subnet.node(0).RouteTo(9), 1);
}

// Two rails in one file: each has its LIDs, and no rule can be judged.
TEST(SubnetFiles, OfSeveralSubnetsAreUnknown) {
  testing::TestSubnet rail = testing::Make(testing::FatTree{.leaves = 2, .hosts = 2});
  rail.Route();
  std::string text = rail.Ibnetdiscover();
  for (testing::TestNode& node : rail.nodes) node.guid += 0x1000000000;
  const Subnet one = ReadText(text);
  EXPECT_EQ(one.CountMixed(), 0U);
  const Subnet both = ReadText(text + rail.Ibnetdiscover() + rail.Lfts());
  EXPECT_EQ(both.CountMixed(), 2U);
  const Evaluation evaluation = Evaluate(both, nullptr, {});
  EXPECT_EQ(evaluation.counts.fail(), 0U);
  EXPECT_EQ(evaluation.counts.pass(), 0U);
  EXPECT_THAT(evaluation.findings.front().title(), HasSubstr("the files have 2 subnets"));
}

TEST(SubnetFiles, OtherOutputsOfKnownToolsAreNamed) {
  Builder builder;
  for (const auto& [text, saw] : {
           std::pair("CA     8  1 0x0000000000200032 4x HDR - SW     3  2 0x0000000000100002 ( 'n4 "
                     "mlx5_0' - 'leaf-2' )\n",
                     "saw output of ibnetdiscover -p: run it without -p"),
           std::pair("Ca\t : 0x0000000000200031 ports 1 devid 0x1021 vendid 0x2c9 \"n4 mlx5_0\"\n",
                     "saw output of ibnetdiscover -l: run it without -l"),
           std::pair("CA: n4 mlx5_0:\n      0x0000000000200032      8    1[  ] ==( 4X  53.125 Gbps "
                     "Active/  LinkUp)==>       3    2[  ] \"leaf-2\" ( )\n",
                     "saw output of iblinkinfo: run ibnetdiscover"),
           std::pair("# This database file was automatically generated by IBDIAG 2.1.1\n"
                     "START_NODES\nNodeDesc,NumPorts,NodeType\n",
                     "saw another file of ibdiagnet: give ibdiagnet2.lst and ibdiagnet2.fdbs"),
           std::pair("START_NODES\nNodeDesc,NumPorts,NodeType\n",
                     "saw another file of ibdiagnet: give ibdiagnet2.lst and ibdiagnet2.fdbs"),
       })
    EXPECT_THAT(AddFile("net.txt", text, builder).message(), HasSubstr(saw));
}

TEST(SubnetList, ReadsBothEndsAndMarksTheManager) {
  const Subnet subnet = ReadText(
      "{ SW Ports:08 SystemGUID:1 NodeGUID:0000000000000001 PortGUID:1 VenID:0002C9 DevID:D2F2 "
      "Rev:000000A1 {leaf {1}} LID:0012 PN:05 } { CA-SM Ports:01 SystemGUID:2 NodeGUID:02 "
      "PortGUID:3 "
      "VenID:000002C9 DevID:10210000 Rev:000000A1 {n1 mlx5_0} LID:0001 PN:01 } PHY=4x LOG=ACT "
      "SPD=50\n",
      "opensm-subnet.lst");
  ASSERT_THAT(subnet.Cables(), SizeIs(1));
  EXPECT_EQ(CableWords(subnet, subnet.Cables()[0]),
            "switch \"leaf {1}\" port 5 - node \"n1\" mlx5_0 port 1");
  EXPECT_EQ(subnet.port({0, 0}).lid, 0x12);
  EXPECT_TRUE(subnet.port({1, 1}).runs_manager);
  EXPECT_EQ(ToString(subnet.port({0, 5}).rate), "4xHDR");
}

TEST(SubnetList, ReadsRoutersAndComments) {
  const Subnet subnet = ReadText(
      "# of ibdiagnet\n{ Rt-SM Ports:02 SystemGUID:1 NodeGUID:0000000000000001 PortGUID:1 "
      "VenID:0002C9 DevID:D2F2 Rev:000000A1 {router} LID:0012 PN:02 } { ** Ports:01 SystemGUID:2 "
      "NodeGUID:02 PortGUID:3 VenID:000002C9 DevID:10210000 Rev:000000A1 {x} LID:0001 PN:01 } "
      "PHY=4x LOG=ACT SPD=??\n",
      "opensm-subnet.lst");
  EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
  ASSERT_THAT(subnet.Cables(), SizeIs(1));
  EXPECT_EQ(subnet.node(0).type, NodeType::kRouter);
  EXPECT_EQ(subnet.node(1).type, NodeType::kUnknown);
}

TEST(Sminfo, ReadsTheState) {
  const Subnet subnet = ReadText(
      "sminfo: sm lid 1 sm guid 0x200002, activity count 170 priority 10 state 3 SMINFO_MASTER\n");
  ASSERT_THAT(subnet.managers(), SizeIs(1));
  EXPECT_EQ(subnet.managers()[0].state, ManagerState::kMaster);
  EXPECT_EQ(subnet.managers()[0].priority, 10U);
}

TEST(Sminfo, WithoutAnAnswerIsAProblem) {
  const Subnet subnet = ReadText("sminfo: iberror: failed: query\n", "sminfo.txt");
  EXPECT_THAT(ProblemTexts(subnet.problems()),
              ElementsAre("sminfo.txt:1: expected the state of a subnet manager, saw 'sminfo: "
                          "iberror: failed: query'"));
  EXPECT_EQ(subnet.unanswered(), "sminfo.txt");
  const Subnet closed =
      ReadText("sminfo: iberror: failed: Failed to open 'mlx5_0' port '0'\n", "sminfo.txt");
  EXPECT_EQ(closed.problems().count(), 1U);
  EXPECT_EQ(closed.unanswered(), "");
}

TEST(Plans, NdtHasSwitchesChassisAndHosts) {
  const auto plan = ReadPlan(
      "p.ndt",
      "#StartDevice,StartPort,EndDevice,EndPort,LinkType\nleaf-1,Port 21,core,Blade 16_Port "
      "2/20,Data\n"
      "n1,n1 ibp11s0f0,leaf-1,Port 1, Data\nleaf-1,abra,leaf-2,cadabra,Data\nleaf-1,Port 3\n"
      "leaf-1,Port 255,leaf-2,Port 1,Data\n");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_THAT(plan->cables, SizeIs(2));
  EXPECT_EQ(ToString(plan->cables[0].to), "\"core/L16/U2\" port 20");
  EXPECT_EQ(ToString(plan->cables[1].from), "\"n1 ibp11s0f0\" port 1");
  EXPECT_THAT(ProblemTexts(plan->problems),
              ElementsAre(HasSubstr("p.ndt:4: expected ports such as 'Port 21'"),
                          HasSubstr("p.ndt:5: expected values of StartDevice, StartPort"),
                          HasSubstr("p.ndt:6: ")));
  EXPECT_THAT(
      ReadPlan("g.ndt", "#StartDevice,StartPort,EndDevice,EndPort\ngarbage\n").status().message(),
      HasSubstr("g.ndt:2: expected values of StartDevice"));
}

// Columns, descriptions and rows as the tools of UFM write them.
TEST(Plans, NdtColumnsAreFoundByName) {
  for (const std::string header :
       {"#StartDevice,StartPort,EndDevice,EndPort,State,Domain\n",
        "#Fields:StartDevice,StartPort,EndDevice,EndPort,State,Domain\n",
        "\xef\xbb\xbfStartDevice,StartPort,EndDevice,EndPort,State,Domain\r\n"}) {
    const auto plan =
        ReadPlan("p.ndt", header +
                              "MF0;sw95:MQM8700/U1,Port 5,gpu-1 mlx5_0,Port 1,Active,In-Scope\r\n"
                              "MF0;sw95:MQM8700/U1,Port 6,,,Disabled,Disconnected\n"
                              "MF0;sw95:MQM8700/U1,Port 7,,,Active,Boundary\n"
                              "MF0;sw95:MQM8700/U1,Port 8,\"core, \"\"A\"\"\",9,Active,In-Scope\n"
                              "\"core, \"\"A\"\"\",9,MF0;sw95:MQM8700/U1,Port 8,Active,In-Scope\n"
                              "sw96,Port 1/31/1/2,sw95,Port 9,Active,In-Scope\n");
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_THAT(plan->cables, SizeIs(2)) << "both directions are one cable";
    EXPECT_EQ(ToString(plan->cables[0].from), "\"sw95\" port 5");
    EXPECT_EQ(ToString(plan->cables[0].to), "\"gpu-1 mlx5_0\" port 1");
    EXPECT_EQ(ToString(plan->cables[1].to), "\"core, \"A\"\" port 9");
    EXPECT_THAT(ProblemTexts(plan->problems), ElementsAre(HasSubstr("p.ndt:7: expected ports")));
  }
}

TEST(Plans, NdtLabelsAreChipCageAndPort) {
  const auto plan = ReadPlan("p.ndt",
                             "StartDevice,StartPort,EndDevice,EndPort\n"
                             "sw96,Port 1/31/1,sw95,1/1/2\n"
                             "sw96,1/32/2,gpu-1 mlx5_0,Port 1\n"
                             "sw96,2/1/1,sw95,Port 3\n"
                             "sw96,1/1/3,sw95,Port 4\n"
                             "sw96,1/0/1,sw95,Port 5\n"
                             "sw96,1/128/1,sw95,Port 6\n"
                             "sw96,1/31,sw95,Port 7\n");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_THAT(plan->cables, SizeIs(2));
  EXPECT_EQ(ToString(plan->cables[0].from), "\"sw96\" port 61");
  EXPECT_EQ(ToString(plan->cables[0].to), "\"sw95\" port 2");
  EXPECT_EQ(ToString(plan->cables[1].from), "\"sw96\" port 64");
  EXPECT_THAT(
      ProblemTexts(plan->problems),
      ElementsAre(HasSubstr("p.ndt:4: expected ports"), HasSubstr("p.ndt:5: expected ports"),
                  HasSubstr("p.ndt:6: expected ports"), HasSubstr("p.ndt:7: expected ports"),
                  HasSubstr("p.ndt:8: expected ports")));
}

TEST(Plans, NdtWithTheColumnsOfRacksAndCables) {
  const auto plan = ReadPlan(
      "p.ndt",
      "rack #,U height,#Fields:StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,"
      "EndDeviceLocation,U height_1,LinkType,Speed,_2,Cable Length,_3,_4,_5,_6,_7,State,Domain\n"
      ",,SwitchX -  Mellanox Technologies,Port 26,,r-ufm64 mlx5_0,Port 1,,,,,,,,,,,,Active,"
      "In-Scope\nSwitchX -  Mellanox Technologies,Port 27,,,,,,,,,,,,Disabled,Disconnected\n");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_THAT(ProblemTexts(plan->problems), IsEmpty());
  ASSERT_THAT(plan->cables, SizeIs(1));
  EXPECT_EQ(ToString(plan->cables[0].from), "\"SwitchX -  Mellanox Technologies\" port 26");
}

TEST(Plans, TopoFileHasTheSwitchAboveItsCables) {
  const auto plan =
      ReadPlan("t.topo",
               "MQM8700 leaf-1\n   P2 -4x-50G-> HCA_mlx5_3 gpu-1 mlx5_0/P1\n   P5 -4x-50G-> "
               "MQM8700 spine-1 P1\n   P6 -> ?\n");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_THAT(plan->cables, SizeIs(2));
  EXPECT_EQ(ToString(plan->cables[0].from), "\"leaf-1\" port 2");
  EXPECT_EQ(ToString(plan->cables[0].to), "\"gpu-1 mlx5_0\" port 1");
  EXPECT_EQ(ToString(plan->cables[1].to), "\"spine-1\" port 1");
  EXPECT_THAT(ProblemTexts(plan->problems), ElementsAre(HasSubstr("t.topo:4: expected")));
}

TEST(Plans, TopoFileHasChassis) {
  const auto plan = ReadPlan("t.topo",
                             "MCS8500 core CFG: L01=present\n"
                             "   L01/U1/P2 -4x-50G-> MQM8700 leaf-1 P5\n"
                             "MQM8700 leaf-2\n   P1 -4x-50G-> MCS8500 core L02/U1/P20\n"
                             "MQM8700\n   P2 -4x-50G-> MQM8700 leaf-1 P6\n");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_THAT(plan->cables, SizeIs(2));
  EXPECT_EQ(ToString(plan->cables[0].from), "\"core/L01/U1\" port 2");
  EXPECT_EQ(ToString(plan->cables[1].to), "\"core/L02/U1\" port 20");
  EXPECT_THAT(ProblemTexts(plan->problems),
              ElementsAre(HasSubstr("t.topo:5: expected 'MODEL NAME'"),
                          HasSubstr("t.topo:6: expected a line 'MODEL NAME'")));
}

TEST(Exports, SlurmJoinsTheLeavesOfAHostAndKeepsPartsApart) {
  const Subnet subnet =
      testing::Make(testing::FatTree{.leaves = 4, .spines = 1, .hosts = 2, .rails = 2}).Read();
  EXPECT_EQ(SlurmTopology(subnet),
            "SwitchName=leaf-1 Nodes=gpu-1,gpu-2\nSwitchName=leaf-3 Nodes=gpu-3,gpu-4\n"
            "SwitchName=top1 Switches=leaf-1,leaf-3\n");
  testing::TestSubnet apart = testing::Make(testing::FatTree{.leaves = 2, .spines = 0, .hosts = 1});
  EXPECT_EQ(SlurmTopology(apart.Read()),
            "SwitchName=leaf-1 Nodes=gpu-1\nSwitchName=leaf-2 Nodes=gpu-2\n");
  EXPECT_THAT(Dot(subnet), HasSubstr("[label=\"leaf-1 (2 hosts)\"]"));
  EXPECT_THAT(Dot(subnet), HasSubstr("n0 -- n1 [label=\"1 4xHDR\"]"));
}

TEST(Words, OfManagedSwitchesAndChassis) {
  EXPECT_EQ(ShortName("MF0;leaf-3:MQM9700/U1"), "leaf-3");
  EXPECT_EQ(ShortName("MF0;core:MCS8500/L16/U2"), "core/L16/U2");
  EXPECT_EQ(ShortName("Quantum Mellanox Technologies"), "Quantum Mellanox Technologies");
}

}  // namespace
}  // namespace fabric::subnet
