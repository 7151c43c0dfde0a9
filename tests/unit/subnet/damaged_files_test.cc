// Files of real subnets that are cut, or whose lines are damaged: none of that is a fault of the
// subnet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
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
using ::testing::IsEmpty;
using testing::ProblemTexts;

testing::TestSubnet WholeTree() {
  testing::TestSubnet made =
      testing::Make(testing::FatTree{.leaves = 2, .spines = 2, .hosts = 2, .trunk = 1});
  made.Route();
  return made;
}

// opensm.fdbs, or ibdiagnet2.fdbs, which has "PLFT_NUM: 0" above each table.
std::string FdbsOf(const testing::TestSubnet& made, std::string_view above_table = "") {
  std::string text;
  for (const testing::TestNode& node : made.nodes) {
    if (!node.is_switch) continue;
    text += Format("dump_ucast_routes: Switch 0x{:016x}\n{}LID    : Port : Hops : Optimal\n",
                   node.guid, above_table);
    for (std::size_t lid = 1; lid < node.routes.size(); ++lid)
      text += Format("0x{:04x} : {:03}  : 01   : yes\n", lid, node.routes[lid]);
    text += "\n";
  }
  return text;
}

// opensm-lfts.dump
std::string DumpOf(const testing::TestSubnet& made) {
  std::string text;
  for (const testing::TestNode& node : made.nodes) {
    if (!node.is_switch) continue;
    text += Format("Unicast lids [0-{}] of switch Lid {} guid 0x{:016x} ('{}'):\n",
                   node.routes.size() - 1, node.lid, node.guid, node.name);
    for (std::size_t lid = 1; lid < node.routes.size(); ++lid)
      text += Format("0x{:04x} {:03} # Channel Adapter portguid 0x{:016x}: 'gpu-1 mlx5_0'\n", lid,
                     node.routes[lid], lid);
    text += Format("{} lids dumped\n", node.routes.size() - 1);
  }
  return text;
}

std::vector<std::string> FaultsOf(const std::vector<std::string>& texts) {
  Builder builder;
  for (const std::string& text : texts)
    if (!AddFile("f.txt", text, builder).ok()) return {};
  const Subnet subnet = builder.Finish();
  if (subnet.Cables().empty()) return {};  // ReadFiles() refuses it.
  std::vector<std::string> faults;
  for (const v1::Finding& finding : Evaluate(subnet, nullptr, {}).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) faults.push_back(finding.title());
  return faults;
}

struct Form {
  std::string name;
  std::string text;
  std::vector<std::string> others;  // Files of the same subnet
};

std::vector<Form> Forms() {
  const testing::TestSubnet made = WholeTree();
  return {{"ibnetdiscover", made.Ibnetdiscover(), {FdbsOf(made)}},
          {"opensm-subnet.lst", made.SubnetList(), {FdbsOf(made)}},
          {"opensm.fdbs", FdbsOf(made), {made.Ibnetdiscover()}},
          {"opensm-lfts.dump", DumpOf(made), {made.Ibnetdiscover()}},
          {"dump_lfts", made.Lfts(), {made.Ibnetdiscover()}}};
}

std::vector<std::string> With(const std::string& text, std::vector<std::string> others) {
  others.push_back(text);
  return others;
}

TEST(DamagedFiles, AreWholeAtFirst) {
  for (const Form& form : Forms()) {
    EXPECT_THAT(FaultsOf(With(form.text, form.others)), IsEmpty()) << form.name;
    EXPECT_THAT(ProblemTexts(testing::ReadText(form.text).problems()), IsEmpty()) << form.name;
  }
}

// At the end of each line, and within it.
TEST(DamagedFiles, ThatAreCutHaveNoFaults) {
  for (const Form& form : Forms())
    for (std::size_t at = form.text.find('\n'); at != std::string::npos;
         at = form.text.find('\n', at + 1))
      for (const std::size_t more : {0U, 9U, 60U}) {
        const std::string cut = form.text.substr(0, at + 1 + more);
        EXPECT_THAT(FaultsOf(With(cut, form.others)), IsEmpty())
            << form.name << " up to " << cut.substr(cut.rfind('\n', cut.size() - 2) + 1);
      }
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) lines.emplace_back(line);
  return lines;
}

// A message of standard error in a line, lost or additional characters, a lost end of line.
void DamageALine(std::mt19937& random, std::vector<std::string>& lines) {
  const std::string message = "ibwarn: [4711] _do_madrpc: recv failed: Connection timed out";
  const std::size_t index = random() % (lines.size() - 2);
  std::string& line = lines[index];
  if (line.empty() || line.starts_with('#')) return;
  const std::size_t at = 1 + random() % line.size();
  const std::string first = line.substr(0, at);
  const std::string rest = line.substr(at);
  constexpr std::string_view kLetters = "#\"[](){}:x\t";
  switch (random() % 7) {
    case 0: line = first + message; break;
    case 1:
      line = first + message;
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(index) + 1, rest);
      break;
    case 2:
      line += lines[index + 1];
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(index) + 1);
      break;
    case 3: line = first; break;
    case 4: line = rest; break;
    case 5: line = first + kLetters[random() % kLetters.size()] + rest; break;
    default: line = first + "\x1b[0K" + rest + "\x07";
  }
}

TEST(DamagedFiles, WithDamagedLinesHaveNoFaults) {
  std::mt19937 random(7);
  for (const Form& form : Forms())
    for (int round = 0; round < 150; ++round) {
      std::vector<std::string> lines = LinesOf(form.text);
      DamageALine(random, lines);
      const std::string text = Join(lines, "\n");
      const std::vector<std::string> faults = FaultsOf(With(text, form.others));
      if (faults.empty()) continue;
      std::size_t same = 0;
      while (text[same] == form.text[same]) ++same;
      const std::size_t from = text.rfind('\n', same) + 1;
      ADD_FAILURE() << form.name << ": " << text.substr(from, text.find('\n', from) - from) << "\n"
                    << faults.front();
    }
}

TEST(DamagedFiles, ATableOfASwitchWithoutCablesIsNotUsed) {
  const testing::TestSubnet made = WholeTree();
  testing::TestSubnet other = WholeTree();
  for (testing::TestNode& node : other.nodes) node.guid += 0x1000000000;
  EXPECT_THAT(FaultsOf({made.Ibnetdiscover(), made.Lfts(), other.Lfts()}), IsEmpty());
  Builder builder;
  for (const std::string& text : {made.Ibnetdiscover(), made.Lfts(), other.Lfts()})
    ASSERT_TRUE(AddFile("f.txt", text, builder).ok());
  EXPECT_THAT(ProblemTexts(builder.Finish().problems()),
              ElementsAre("forwarding tables: expected tables of switches with cables, saw tables "
                          "of 0x0000001010000000, 0x0000001010000010, 0x0000001010000020 and 1 "
                          "more: not used"));
}

TEST(DamagedFiles, JoinedAndBrokenLinesOfPlansAreNotUsed) {
  const auto ndt = ReadPlan("p.ndt",
                            "StartDevice,StartPort,EndDevice,EndPort,State\n"
                            "leaf-1,Port 1,gpu-1 mlx5_0,Port 1,Active,,\n"
                            "leaf-1,Port 2,gpu-2 mlx5_0,Port 1,Activeleaf-1,Port 3,gpu-3 mlx5_0,"
                            "Port 1,Active\n");
  ASSERT_TRUE(ndt.ok()) << ndt.status().message();
  EXPECT_THAT(ProblemTexts(ndt->problems),
              ElementsAre(HasSubstr("p.ndt:3: expected one row on a line, saw")));
  EXPECT_EQ(ndt->cables.size(), 1U);
  const auto topo = ReadPlan("p.topo",
                             "MQM8700 leaf-1\n   P1 -4x-100G-> HCA_mlx5_0 gpu-1 mlx5_0/P1\n"
                             "   P2 -4x-> MQM8700 spine-1 P1   P3 -4x-> MQM8700 spine-2 P1\n"
                             "   P4 -4x-100G-> MQM8700 \nspine-1 P2\n");
  ASSERT_TRUE(topo.ok()) << topo.status().message();
  EXPECT_THAT(ProblemTexts(topo->problems),
              ElementsAre(HasSubstr("p.topo:3: "), HasSubstr("p.topo:4: "),
                          HasSubstr("p.topo:5: expected 'MODEL NAME'")));
  EXPECT_EQ(topo->cables.size(), 1U);
}

TEST(DamagedFiles, IbdiagnetNumbersPrivateTables) {
  const testing::TestSubnet made = WholeTree();
  const Subnet first = testing::ReadText(FdbsOf(made, "PLFT_NUM: 0\n"));
  EXPECT_THAT(ProblemTexts(first.problems()), IsEmpty());
  EXPECT_EQ(first.node(0).RouteTo(1), 0);
  const Subnet second = testing::ReadText(
      "dump_ucast_routes: Switch 0x0000000000000001\nPLFT_NUM: 0\nLID    : Port : Hops : Optimal\n"
      "0x0001 : 007  : 01   : yes\nPLFT_NUM: 1\nLID    : Port : Hops : Optimal\n"
      "0x0001 : 009  : 01   : yes\nPLFT_NUM: 2\n0x0001 : 010  : 01   : yes\n"
      "dump_ucast_routes: Switch 0x0000000000000002\n0x0001 : 003  : 01   : yes\n");
  EXPECT_THAT(ProblemTexts(second.problems()),
              ElementsAre(HasSubstr("net.txt:5: expected one forwarding table for each switch, saw "
                                    "'PLFT_NUM: 1'")));
  EXPECT_EQ(second.node(0).RouteTo(1), 7);
  EXPECT_EQ(second.node(1).RouteTo(1), 3);
}

TEST(DamagedFiles, ALostLineOfASwitchEndsTheTableBefore) {
  const Subnet subnet = testing::ReadText(
      "dump_ucast_routes: Switch 0x0000000000000001\nLID    : Port : Hops : Optimal\n"
      "0x0001 : 007  : 01   : yes\nLID    : Port : Hops : Optimal\n0x0001 : 009  : 01   : yes\n"
      "0x0002 : 009  : 01   : yes\n");
  EXPECT_THAT(ProblemTexts(subnet.problems()),
              ElementsAre(HasSubstr("net.txt:4: expected a line with the GUID of the switch")));
  EXPECT_EQ(subnet.node(0).RouteTo(1), 7);
}

TEST(DamagedFiles, DescriptionsOfAListCanBeMissing) {
  std::string text = WholeTree().SubnetList();
  for (std::size_t at = text.find('{', 1); at != std::string::npos; at = text.find('{', at + 1))
    if (text[at + 1] != ' ') text.erase(at, text.find('}', at) - at + 2);
  const Subnet subnet = testing::ReadText(text);
  EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
  EXPECT_EQ(subnet.Cables().size(), 8U);
}

TEST(DamagedFiles, GroupedOutputHasNodesOutsideOfAChassis) {
  const std::string text = WholeTree().Ibnetdiscover();
  const std::size_t at = text.find("\nvendid");
  const Subnet subnet =
      testing::ReadText(text.substr(0, at) + "\nChassis 1 (guid 0x8f1)\n" +
                        "\n# Spine Nodes\n\nNon-Chassis Nodes\n" + text.substr(at));
  EXPECT_THAT(ProblemTexts(subnet.problems()), IsEmpty());
}

}  // namespace
}  // namespace fabric::subnet
