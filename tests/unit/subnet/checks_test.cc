// Checks of subnets: healthy ones have no FAIL, and each fault has its own.
#include "subnet/checks/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "base/text.h"
#include "subnet/builder.h"
#include "subnet/files/formats.h"
#include "subnet/mad/attributes.h"
#include "subnet/words.h"
#include "tests/testing/paths.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FatTree;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Pods;
using testing::TestNode;
using testing::TestSubnet;

// "RULE: TITLE" of each FAIL.
std::vector<std::string> Failures(const Subnet& subnet, const Plan* plan = nullptr,
                                  const Expectations& expected = {}) {
  std::vector<std::string> texts;
  for (const v1::Finding& finding : Evaluate(subnet, plan, expected).findings)
    if (finding.verdict() == v1::VERDICT_FAIL)
      texts.push_back(Format("{}: {}", finding.rule(), finding.title()));
  return texts;
}

std::vector<std::string> UnknownRules(const Subnet& subnet) {
  std::vector<std::string> rules;
  for (const v1::Finding& finding : Evaluate(subnet, nullptr, {}).findings)
    if (finding.verdict() == v1::VERDICT_UNKNOWN) rules.push_back(finding.rule());
  return rules;
}

TestSubnet Routed(TestSubnet made) {
  made.Route();
  return made;
}

Subnet WithFile(const TestSubnet& made, const std::string& text) {
  Builder builder;
  EXPECT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  EXPECT_TRUE(AddFile("more.txt", text, builder).ok());
  return builder.Finish();
}

TEST(HealthySubnets, HaveNoFailure) {
  for (const FatTree& tree : {FatTree{}, FatTree{.leaves = 2, .spines = 1, .hosts = 1},
                              FatTree{.leaves = 2, .spines = 2, .hosts = 3},
                              FatTree{.leaves = 6, .spines = 4, .hosts = 12},
                              FatTree{.leaves = 3, .spines = 2, .hosts = 5, .trunk = 3},
                              FatTree{.leaves = 8, .spines = 4, .hosts = 16, .rails = 4},
                              FatTree{.leaves = 8, .spines = 4, .hosts = 6, .rails = 8},
                              FatTree{.leaves = 1, .spines = 0, .hosts = 8}})
    EXPECT_THAT(Failures(Routed(testing::Make(tree)).Read()), IsEmpty())
        << tree.leaves << " leaves, " << tree.spines << " spines, " << tree.rails << " rails";
  for (const Pods& pods :
       {Pods{}, Pods{.pods = 4, .leaves = 4, .spines = 4, .cores = 8, .uplinks = 4},
        Pods{.pods = 2, .leaves = 6, .spines = 2, .cores = 2, .hosts = 10}})
    EXPECT_THAT(Failures(Routed(testing::Make(pods)).Read()), IsEmpty());
}

TEST(HealthySubnets, IrregularOnesAreUnknownInsteadOfFailed) {
  TestSubnet dragonfly;  // Each switch has hosts and a cable to each other
  for (std::uint32_t i = 0; i < 6; ++i) dragonfly.AddSwitch(Format("sw-{}", i));
  for (std::uint32_t i = 0; i < 6; ++i) {
    for (std::uint32_t j = i + 1; j < 6; ++j) dragonfly.Connect(i, j);
    for (std::uint32_t h = 0; h < 4; ++h)
      dragonfly.Connect(i, dragonfly.AddHost(Format("n{} mlx5_0", i * 4 + h)));
  }
  dragonfly.Route();
  EXPECT_THAT(Failures(dragonfly.Read()), IsEmpty());
  EXPECT_THAT(UnknownRules(dragonfly.Read()), ::testing::Contains("subnet_tree_levels"));
}

TEST(HealthySubnets, WithoutTablesTheRoutingIsUnknown) {
  const Subnet subnet = testing::Make(FatTree{}).Read();
  EXPECT_THAT(Failures(subnet), IsEmpty());
  for (const char* const rule :
       {"subnet_routes_reach", "subnet_no_route_loops", "subnet_hops_minimal",
        "subnet_no_credit_loops", "subnet_uplinks_used", "subnet_one_master"})
    EXPECT_THAT(UnknownRules(subnet), ::testing::Contains(rule));
}

TEST(SubnetOneMaster, FailsWithoutOneAndWithTwo) {
  const TestSubnet made = testing::Make(FatTree{});
  const auto text = [](int lid, int state) {
    return Format("sminfo: sm lid {} sm guid 0x{}, activity count 1 priority 1 state {} X\n", lid,
                  lid, state);
  };
  EXPECT_THAT(Failures(WithFile(made, text(7, 3) + text(8, 2))), IsEmpty());
  EXPECT_THAT(Failures(WithFile(made, text(7, 3) + text(8, 3))),
              ElementsAre(HasSubstr("subnet_one_master: 2 masters: 0x0000000000000007 (LID 7")));
  EXPECT_THAT(Failures(WithFile(made, text(8, 2))),
              ElementsAre("subnet_one_master: no subnet manager is master"));
  // The manager runs or not: only that sminfo had no answer is known.
  for (const std::string& others : {std::string(), text(8, 2)}) {
    const Subnet silent = WithFile(made, others + "sminfo: iberror: failed: query\n");
    EXPECT_THAT(Failures(silent), IsEmpty());
    EXPECT_THAT(UnknownRules(silent), ::testing::Contains("subnet_one_master"));
  }
}

TEST(SubnetLidAssigned, FailsForPortsThatTheManagerDidNotConfigure) {
  TestSubnet made = testing::Make(FatTree{});
  made.nodes[made.Find("gpu-3 mlx5_0")].lid = 65535;
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre("subnet_lid_assigned: switch \"leaf-1\" port 3 - node \"gpu-3\" mlx5_0 port "
                  "1 has no LID, saw 65535"));
}

TEST(SubnetLidUnique, NamesBothPorts) {
  TestSubnet made = testing::Make(FatTree{});
  made.nodes[made.Find("gpu-3 mlx5_0")].lid = made.nodes[made.Find("gpu-9 mlx5_0")].lid;
  EXPECT_THAT(Failures(made.Read()),
              ElementsAre(AllOf(HasSubstr("subnet_lid_unique: LID "), HasSubstr("\"gpu-3\""),
                                HasSubstr("\"gpu-9\""))));
}

TEST(SubnetGuidUnique, NamesBothCables) {
  TestSubnet made = testing::Make(FatTree{.leaves = 3});
  std::string text = made.Ibnetdiscover();
  // leaf-2 sees the GUID of gpu-1 on the cable of gpu-9.
  const auto id = [&](const char* name) {
    return Format("\"H-{:016x}\"[1]", made.nodes[made.Find(name)].guid);
  };
  const std::size_t at = text.find(id("gpu-9 mlx5_0"));
  text.replace(at, id("gpu-9 mlx5_0").size(), id("gpu-1 mlx5_0"));
  const std::string own = Format("Ca\t1 {}", id("gpu-9 mlx5_0").substr(0, 20));
  const std::size_t section = text.rfind("\nvendid", text.find(own));
  text.erase(section, text.find("\nvendid", section + 1) - section);
  Builder builder;
  ASSERT_TRUE(AddFile("net.txt", text, builder).ok());
  EXPECT_THAT(Failures(builder.Finish()),
              ::testing::Contains(AllOf(HasSubstr("subnet_guid_unique: GUID 0x"),
                                        HasSubstr("switch \"leaf-2\" port 1"),
                                        HasSubstr("switch \"leaf-1\" port 1"))));
}

TEST(SubnetDescriptionUnique, ListsTheGuids) {
  TestSubnet made = testing::Make(FatTree{});
  made.nodes[made.Find("gpu-3 mlx5_0")].name = "gpu-4 mlx5_0";
  EXPECT_THAT(Failures(made.Read()),
              ElementsAre(HasSubstr("2 nodes have the description \"gpu-4 mlx5_0\": 0x")));
}

TEST(SubnetCableMutual, FailsForAnEndThatItsNodeDoesNotList) {
  TestSubnet made = testing::Make(FatTree{});
  std::string text = made.Ibnetdiscover();
  const std::size_t host = text.find("Ca\t1 ");
  const std::size_t cable = text.find("[1]", host);
  text.erase(cable, text.find('\n', cable) + 1 - cable);
  Builder builder;
  ASSERT_TRUE(AddFile("net.txt", text, builder).ok());
  EXPECT_THAT(
      Failures(builder.Finish()),
      ElementsAre(HasSubstr("subnet_cable_mutual: one-sided cable switch \"leaf-1\" port 1 - "
                            "node \"gpu-1\" mlx5_0 port 1")));
  text.insert(cable, "[1?garbage\n");  // The line is there, but cannot be read.
  Builder lost;
  ASSERT_TRUE(AddFile("net.txt", text, lost).ok());
  const Subnet subnet = lost.Finish();
  EXPECT_THAT(Failures(subnet), IsEmpty());
  EXPECT_THAT(UnknownRules(subnet), ::testing::Contains("subnet_cable_mutual"));
}

// The node that reduces data inside a switch has fewer lanes than the adapters.
TEST(SubnetRateEqual, IgnoresAggregationNodes) {
  TestSubnet made = testing::Make(FatTree{});
  const std::uint32_t node = made.AddHost("Mellanox Technologies Aggregation Node");
  made.cables[made.Connect(made.Find("leaf-1"), node)].rate = "2xHDR";
  EXPECT_THAT(Failures(made.Read()), IsEmpty());
}

TEST(SubnetRateEqual, NamesTheSlowCable) {
  TestSubnet made = testing::Make(FatTree{});
  made.cables[2].rate = "1xHDR";
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre("subnet_rate_equal: switch \"leaf-1\" port 3 - node \"gpu-3\" mlx5_0 port 1: "
                  "1xHDR, expected 4xHDR"));
  made = testing::Make(FatTree{.leaves = 6});
  made.cables[8].rate = "4xEDR";
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre(HasSubstr("switch \"leaf-1\" port 9 - switch \"spine-1\" port 1: 4xEDR")));
}

TEST(SubnetRateAsEnabled, JudgesKnownSettings) {
  Builder builder;
  const TestSubnet made = testing::Make(FatTree{});
  ASSERT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  for (const End end : {End{0, 1}, End{builder.PortOf({0, 1})->peer, 1}})
    builder.PortOf(end)->enabled = Rate{4, Speed::kNdr};
  EXPECT_THAT(Failures(builder.Finish()), ElementsAre(AllOf(HasSubstr("subnet_rate_as_enabled"),
                                                            HasSubstr("4xHDR, expected 4xNDR"))));
}

TEST(SubnetCablesAsPlanned, FindsMiswiredMissingAndUnplannedCables) {
  TestSubnet made = testing::Make(FatTree{.leaves = 5});
  const Subnet golden = made.Read();
  const Plan plan = PlanOf("golden.txt", golden);
  EXPECT_THAT(Failures(golden, &plan), IsEmpty());
  std::swap(made.cables[0].from_port, made.cables[1].from_port);
  EXPECT_THAT(Failures(made.Read(), &plan),
              ElementsAre(HasSubstr("miswired: switch \"leaf-1\" port 1 - node \"gpu-2\""),
                          HasSubstr("miswired: switch \"leaf-1\" port 2 - node \"gpu-1\"")));
  made = testing::Make(FatTree{.leaves = 5});
  made.cables.erase(made.cables.begin() + 3);
  EXPECT_THAT(Failures(made.Read(), &plan),
              ElementsAre("subnet_cables_as_planned: missing: planned cable \"leaf-1\" port 4 - "
                          "\"gpu-4 mlx5_0\" port 1"));
  made = testing::Make(FatTree{.leaves = 5});
  made.Connect(0, made.AddHost("new mlx5_0"));
  EXPECT_THAT(Failures(made.Read(), &plan),
              ElementsAre(HasSubstr("unplanned: switch \"leaf-1\" port 11 - node \"new\"")));
}

TEST(SubnetTreeLevels, NamesACableBetweenTwoLeaves) {
  TestSubnet made = testing::Make(FatTree{.leaves = 6, .spines = 4});
  made.Connect(made.Find("leaf-2"), made.Find("leaf-5"));
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre("subnet_tree_levels: switch \"leaf-2\" port 13 - switch \"leaf-5\" port 13 "
                  "joins two switches of level 0"));
}

TEST(SubnetUplinksComplete, NamesTheSpineThatIsMissing) {
  TestSubnet made = testing::Make(FatTree{.leaves = 6, .spines = 4});
  const std::uint32_t leaf = made.Find("leaf-3");
  const std::uint32_t spine = made.Find("spine-2");
  std::erase_if(made.cables, [&](const testing::TestCable& cable) {
    return cable.from == leaf && cable.to == spine;
  });
  EXPECT_THAT(Failures(made.Read()),
              ElementsAre("subnet_uplinks_complete: switch \"leaf-3\": 3 uplinks, expected 4; "
                          "missing: switch \"spine-2\""));
}

TEST(SubnetOversubscription, NeedsTheLimit) {
  const Subnet subnet = testing::Make(FatTree{}).Read();
  EXPECT_THAT(Failures(subnet, nullptr, {.oversubscription_max = 4.0}), IsEmpty());
  EXPECT_THAT(
      Failures(subnet, nullptr, {.oversubscription_max = 2.0}),
      ::testing::Contains("subnet_oversubscription: switch \"leaf-1\": oversubscription 4.00, "
                          "expected at most 2.00"));
}

TEST(SubnetRailsStraight, NamesBothSwappedAdapters) {
  TestSubnet made = testing::Make(FatTree{.leaves = 4, .spines = 2, .hosts = 8, .rails = 4});
  const std::uint32_t first = made.Find("gpu-3 mlx5_0");
  const std::uint32_t second = made.Find("gpu-3 mlx5_2");
  for (testing::TestCable& cable : made.cables)
    if (cable.to == first || cable.to == second) cable.to = first + second - cable.to;
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre(HasSubstr("subnet_rails_straight: switch \"leaf-1\" port 3 - node \"gpu-3\" "
                            "mlx5_2 port 1: the leaf serves mlx5_0"),
                  HasSubstr("switch \"leaf-3\" port 3 - node \"gpu-3\" mlx5_0")));
}

TEST(SubnetRoutesReach, NamesSwitchPortAndLidOfOneBadEntry) {
  TestSubnet made = Routed(testing::Make(FatTree{}));
  const std::uint32_t lid = made.nodes[made.Find("gpu-3 mlx5_0")].lid;
  TestNode& spine = made.nodes[made.Find("spine-1")];
  const std::uint8_t good = spine.routes[lid];
  spine.routes[lid] = kNoRoute;
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre(HasSubstr(Format("subnet_routes_reach: switch \"spine-1\" has no route to LID "
                                   "{} (node \"gpu-3\" mlx5_0 port 1)",
                                   lid))));
  spine.routes[lid] = 60;
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre(HasSubstr(Format("switch \"spine-1\" sends LID {} (node \"gpu-3\" mlx5_0 port "
                                   "1) to port 60, which has no cable",
                                   lid))));
  spine.routes[lid] = good;
  made.nodes[made.Find("leaf-1")].routes[lid] = 1;
  EXPECT_THAT(
      Failures(made.Read()),
      ElementsAre(HasSubstr("to port 1, which leads to node \"gpu-1\" mlx5_0 port 1: 31 pairs")));
}

TEST(SubnetRoutesReach, ALidWithoutRoutesIsOneFinding) {
  TestSubnet made = Routed(testing::Make(FatTree{}));
  const std::uint32_t lid = made.nodes[made.Find("gpu-3 mlx5_0")].lid;
  for (TestNode& node : made.nodes)
    if (node.is_switch) node.routes[lid] = kNoRoute;
  EXPECT_THAT(Failures(made.Read()),
              ElementsAre(HasSubstr(Format("6 of 6 switches have no route to LID {}", lid))));
}

TEST(SubnetRoutesReach, ASwitchWithoutATableIsUnknown) {
  TestSubnet made = Routed(testing::Make(FatTree{}));
  made.nodes[made.Find("spine-2")].routes.clear();
  EXPECT_THAT(Failures(made.Read()), IsEmpty());
  EXPECT_THAT(UnknownRules(made.Read()), ::testing::Contains("subnet_routes_reach"));
}

TEST(SubnetNoRouteLoops, NamesTheEntryThatLeadsAway) {
  TestSubnet made = Routed(testing::Make(FatTree{}));
  const std::uint32_t lid = made.nodes[made.Find("gpu-3 mlx5_0")].lid;
  // To leaf-2, which sends it back up. Both spines do, so that any choice of leaf-2 loops.
  for (const char* const name : {"spine-1", "spine-2"}) made.nodes[made.Find(name)].routes[lid] = 2;
  const std::vector<std::string> failures = Failures(made.Read());
  EXPECT_THAT(failures, ::testing::Contains(AllOf(
                            HasSubstr(Format("subnet_no_route_loops: LID {} (node \"gpu-3\"", lid)),
                            HasSubstr("port 2 leads away from it"))));
}

TEST(SubnetHopsMinimal, NamesTheDetour) {
  TestSubnet made = Routed(testing::Make(Pods{.pods = 2, .leaves = 3, .spines = 2, .cores = 2}));
  const std::uint32_t lid = made.nodes[made.Find("gpu-5 mlx5_0")].lid;
  TestNode& spine = made.nodes[made.Find("spine-1-1")];
  spine.routes[lid] = 5;  // To leaf-1-3, which sends it to the other spine
  made.nodes[made.Find("leaf-1-3")].routes[lid] = 2;
  const std::vector<std::string> failures = Failures(made.Read());
  ASSERT_FALSE(failures.empty());
  EXPECT_THAT(failures, ::testing::Contains(
                            HasSubstr("subnet_hops_minimal: switch \"spine-1-1\" port 5 sends")));
}

TEST(SubnetUplinks, AnUnusedUplinkFailsAndTheOtherIsTooBusy) {
  TestSubnet made = Routed(testing::Make(FatTree{.leaves = 6, .hosts = 16}));
  TestNode& leaf = made.nodes[made.Find("leaf-1")];
  for (const TestNode& node : made.nodes)
    if (!node.is_switch && leaf.routes[node.lid] == 18) leaf.routes[node.lid] = 17;
  EXPECT_THAT(Failures(made.Read()),
              ElementsAre(HasSubstr("subnet_uplinks_balanced: switch \"leaf-1\" port 17 - switch "
                                    "\"spine-1\" port 1 carries 2.00 times the mean"),
                          HasSubstr("subnet_uplinks_used: switch \"leaf-1\" port 18 - switch "
                                    "\"spine-2\" port 1 carries no path")));
}

// A ring of four switches: the shortest paths over two switches go round.
TestSubnet RingOfFour() {
  TestSubnet ring;
  for (int i = 0; i < 4; ++i) ring.AddSwitch(Format("sw-{}", i));
  for (std::uint32_t i = 0; i < 4; ++i) ring.Connect(i, (i + 1) % 4);
  for (std::uint32_t i = 0; i < 4; ++i) ring.Connect(i, ring.AddHost(Format("n{} mlx5_0", i)));
  ring.Route();
  for (std::uint32_t at = 0; at < 4; ++at)  // To the opposite switch: always clockwise
    for (std::uint32_t host = 4; host < 8; ++host)
      if ((host - 4) == (at + 2) % 4)
        for (const testing::TestCable& cable : ring.cables)
          if (cable.from == at && cable.to == (at + 1) % 4)
            ring.nodes[at].routes[ring.nodes[host].lid] =
                static_cast<std::uint8_t>(cable.from_port);
  return ring;
}

TEST(SubnetNoCreditLoops, ShowsTheShortestCycle) {
  const TestSubnet ring = RingOfFour();
  const std::vector<std::string> failures = Failures(ring.Read());
  ASSERT_THAT(failures, ElementsAre(HasSubstr("subnet_no_credit_loops: credit loop of 4 links: ")));
  EXPECT_THAT(Failures(ring.Read(), nullptr, {.several_lanes = true}), IsEmpty());
}

// The ring with SL-to-VL tables: `lane` for each service level at each switch.
Subnet RingWithLanes(const std::function<std::uint8_t(std::size_t level)>& lane, bool by_input) {
  const TestSubnet ring = RingOfFour();
  Builder builder;
  EXPECT_TRUE(AddFile("net.txt", ring.Ibnetdiscover(), builder).ok());
  EXPECT_TRUE(AddFile("lfts.txt", ring.Lfts(), builder).ok());
  for (const testing::TestCable& cable : ring.cables)
    for (const auto& [node, port] :
         {std::pair(cable.from, cable.from_port), std::pair(cable.to, cable.to_port)}) {
      const std::uint32_t index = builder.NodeOf(NodeType::kUnknown, ring.nodes[node].guid);
      builder.node(index).lanes_by_input = by_input && ring.nodes[node].is_switch;
      PortDetails& details = *builder.DetailsOf({index, port});
      details.lanes = 4;
      details.lane_of_level.emplace();
      for (std::size_t level = 0; level < kServiceLevels; ++level)
        (*details.lane_of_level)[level] = lane(level);
    }
  return builder.Finish();
}

std::vector<std::string> CreditFailures(const Subnet& subnet, bool several_lanes) {
  std::vector<std::string> failures = Failures(subnet, nullptr, {.several_lanes = several_lanes});
  std::erase_if(failures, [](const std::string& text) {
    return text.find("subnet_no_credit_loops") == std::string::npos;
  });
  return failures;
}

TEST(SubnetNoCreditLoops, LanesDecideWhetherACycleIsOne) {
  const auto one = [](std::size_t) { return std::uint8_t{0}; };
  const auto dropped = [](std::size_t level) { return level == 3 ? kDropLane : std::uint8_t{2}; };
  const auto several = [](std::size_t level) { return static_cast<std::uint8_t>(level % 4); };
  for (const bool several_lanes : {false, true}) {
    EXPECT_EQ(CreditFailures(RingWithLanes(one, false), several_lanes).size(), 1U);
    EXPECT_EQ(CreditFailures(RingWithLanes(dropped, false), several_lanes).size(), 1U);
    EXPECT_EQ(CreditFailures(RingWithLanes(several, false), several_lanes).size(),
              several_lanes ? 0U : 1U);
    EXPECT_THAT(CreditFailures(RingWithLanes(one, true), several_lanes), IsEmpty());
  }
}

// All ports that lead round the ring wait: a deadlock. Without tables, no traffic has to take it.
TEST(SubnetNoCongestion, PortsThatWaitForEachOtherAreACycle) {
  const TestSubnet ring = RingOfFour();
  for (const bool tables : {true, false}) {
    Builder builder;
    ASSERT_TRUE(AddFile("net.txt", ring.Ibnetdiscover(), builder).ok());
    if (tables) {
      ASSERT_TRUE(AddFile("lfts.txt", ring.Lfts(), builder).ok());
    }
    for (const testing::TestCable& cable : ring.cables) {
      if (!ring.nodes[cable.to].is_switch) continue;
      const std::uint32_t node = builder.NodeOf(NodeType::kUnknown, ring.nodes[cable.from].guid);
      builder.node(node).tick = 7;
      PortDetails& details = *builder.DetailsOf({node, cable.from_port});
      details.wide_counters = true;
      details.between = std::chrono::minutes(1);
      details.first_counters = details.counters = CounterValues{};
      // A tick is 8 bytes at 25 GB/s: the whole minute.
      (*details.counters)[static_cast<std::size_t>(Counter::kTransmitWait)] =
          std::uint64_t{60} * 25'000'000'000 / 8;
    }
    std::vector<std::string> verdicts;
    for (const v1::Finding& finding : Evaluate(builder.Finish(), nullptr, {}).findings)
      if (finding.rule() == "subnet_no_congestion" && finding.verdict() == v1::VERDICT_FAIL)
        verdicts.push_back(finding.title());
    EXPECT_EQ(verdicts.size(), tables ? 1U : 0U);
    for (const std::string& title : verdicts)
      EXPECT_THAT(title, HasSubstr("4 ports wait for each other in a cycle"));
  }
}

// One entry changed at random is found, with its switch and LID, or changes nothing for a path.
TEST(RandomChange, OfOneEntryIsNamed) {
  const TestSubnet healthy = Routed(testing::Make(FatTree{.leaves = 5, .spines = 3, .hosts = 4}));
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    TestSubnet made = healthy;
    TestNode& node = made.nodes[random() % 8];
    const auto lid = static_cast<std::uint32_t>(1 + random() % made.nodes.size());
    const std::uint8_t before = node.routes[lid];
    node.routes[lid] = static_cast<std::uint8_t>(random() % 20);
    if (node.routes[lid] == before) continue;
    const Subnet subnet = made.Read();
    const Graph graph(subnet);
    const RouteReport report = AnalyseRoutes(graph);
    const std::uint32_t index = graph.IndexOf(subnet.FindGuid(node.guid));
    bool named = false;
    for (const BadEntries& bad : report.bad)
      named =
          named || (bad.index == index && bad.port == node.routes[lid] &&
                    bad.some_lids == std::vector<std::uint16_t>{static_cast<std::uint16_t>(lid)});
    for (const RouteLoop& loop : report.loops)
      named = named || (loop.lid == lid && loop.culprit == graph.EndOf(index, node.routes[lid]));
    for (const Detours& each : report.detours)
      named = named || (each.index == index && each.port == node.routes[lid]);
    // Another port that leads to the destination as directly is as good.
    const bool equal = node.routes[lid] != 0 && report.unreachable == 0 && report.bad.empty() &&
                       report.loops.empty() && report.detours.empty();
    EXPECT_TRUE(named || equal) << "seed " << seed << ", " << node.name << ", LID " << lid;
    EXPECT_LE(report.bad.size() + report.loops.size() + report.detours.size(), 1U)
        << "seed " << seed;
  }
}

TEST(SubnetChecks, AreInTheDocumentation) {
  std::ifstream file(std::string(fabric::testing::kSourceDir) + ("/docs/INFINIBAND.md"));
  std::stringstream page;
  page << file.rdbuf();
  for (const Check* const check : AllChecks())
    EXPECT_THAT(page.str(), HasSubstr(Format("`{}`", check->id)));
}

}  // namespace
}  // namespace fabric::subnet
