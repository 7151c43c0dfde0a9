// module_within_limits, module_kind_equal_on_rail, card_temperature_within_limit
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/names.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NetdevOf;
using Node = v1::NodeSnapshot;

// Optical modules of eight lanes on links of four.
std::vector<Node> WithModules() {
  auto nodes = testing::Nodes(3, testing::RoceNode);
  for (Node& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      NetdevOf(node, rail).set_lanes(4);
      v1::Module& module = *NetdevOf(node, rail).mutable_module();
      module.set_vendor("NVIDIA");
      module.set_part_number("MMA1B00-C100D");
      module.set_temperature_celsius(45);
      module.set_voltage_volts(3.3);
      module.mutable_temperature_limits()->set_alarm_high(80);
      module.mutable_temperature_limits()->set_alarm_low(-10);
      module.mutable_rx_power_limits()->set_alarm_high(3.4);
      module.mutable_rx_power_limits()->set_alarm_low(0.05);
      for (std::uint32_t lane = 1; lane <= 8; ++lane) {
        module.add_lanes()->set_lane(lane);
        module.mutable_lanes(static_cast<int>(lane) - 1)->set_rx_power_milliwatts(lane > 4 ? 0 : 1);
      }
      v1::Sensor& sensor = *testing::FunctionOfRail(node, rail).add_sensors();
      sensor.set_name("temp1");
      sensor.set_label("asic");
      sensor.set_temperature_celsius(65);
      sensor.set_critical_celsius(105);
    }
  return nodes;
}

v1::Module& ModuleOf(Node& node) {
  return *NetdevOf(node, 1).mutable_module();
}

TEST(ModuleRules, HealthyModulesPass) {
  EXPECT_THAT(Failures(WithModules()), IsEmpty());
  EXPECT_THAT(Unknowns(WithModules()), IsEmpty());
}

struct ModuleFault {
  const char* rule;
  void (*plant)(Node&);
  const char* title;
};

constexpr ModuleFault kModuleFaults[] = {
    {"module_within_limits", [](Node& n) { ModuleOf(n).set_temperature_celsius(81); },
     "module: temperature 81 degrees Celsius, expected at most 80 degrees Celsius"},
    {"module_within_limits",
     [](Node& n) { ModuleOf(n).mutable_lanes(2)->set_rx_power_milliwatts(0.001); },
     "receive power of lane 3 0.001 mW, expected at least 0.05 mW"},
    {"module_kind_equal_on_rail", [](Node& n) { ModuleOf(n).set_part_number("MCP1600-C003"); },
     "module MCP1600-C003, expected MMA1B00-C100D"},
    {"card_temperature_within_limit",
     [](Node& n) {
       testing::FunctionOfRail(n, 1).mutable_sensors(0)->set_temperature_celsius(105);
     },
     "sensor asic of mlx5_1: 105 degrees Celsius, expected below 105 degrees Celsius"},
};

TEST(ModuleRules, EachFaultIsOneFinding) {
  for (const ModuleFault& fault : kModuleFaults) {
    auto nodes = WithModules();
    fault.plant(nodes[1]);
    const v1::Finding finding = TheFailure(nodes);
    EXPECT_EQ(finding.rule(), fault.rule);
    EXPECT_THAT(finding.title(), HasSubstr(fault.title));
    EXPECT_EQ(finding.subject().node(), "n2");
  }
}

// Ports over a bond of rail0 and rail1, with a module each.
std::vector<Node> WithBonds() {
  auto nodes = WithModules();
  for (Node& node : nodes) {
    v1::NetInterface& bond = *node.add_net_interfaces();
    bond = NetdevOf(node, 0);
    bond.set_name("bond0");
    bond.set_index(100);
    bond.clear_module();
    bond.clear_pci_address();
    bond.mutable_bond()->set_mode("802.3ad");
    bond.mutable_bond()->set_transmit_hash_policy("layer3+4");
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      bond.mutable_bond()->add_members(NetdevOf(node, rail).name());
      NetdevOf(node, rail).mutable_bond_member()->set_active(true);
      NetdevOf(node, rail).mutable_bond_member()->set_mii_up(true);
      NetdevOf(node, rail).set_master("bond0");
      NetdevOf(node, rail).clear_addresses();
    }
    node.mutable_rdma_devices()->DeleteSubrange(1, 1);
    testing::PortOf(node, 0).set_netdev("bond0");
  }
  return nodes;
}

std::vector<std::string> KindFailures(const std::vector<Node>& nodes,
                                      const v1::Expectations* expect = nullptr) {
  std::vector<std::string> titles;
  const Evaluation evaluation = expect != nullptr ? Judge(nodes, Expecting(*expect)) : Judge(nodes);
  for (const v1::Finding& finding : evaluation.findings)
    if (finding.rule() == "module_kind_equal_on_rail" && finding.verdict() == v1::VERDICT_FAIL)
      titles.push_back(SubjectName(finding.subject()) + " " + finding.title());
  return titles;
}

TEST(ModuleKind, ComparesAllMembersOfABond) {
  for (const std::uint32_t member : {0U, 1U}) {
    auto nodes = WithBonds();
    EXPECT_THAT(KindFailures(nodes), IsEmpty());
    NetdevOf(nodes[1], member).mutable_module()->set_part_number("MCP1600-C003");
    EXPECT_THAT(KindFailures(nodes),
                ElementsAre(HasSubstr("n2/mlx5_0/1 modules of the bond: MCP1600-C003, "
                                      "MMA1B00-C100D, expected MMA1B00-C100D")));
    v1::Expectations expect;
    expect.set_module_part_number("MMA1B00-C100D");
    EXPECT_THAT(KindFailures(nodes, &expect),
                ElementsAre(HasSubstr("n2/mlx5_0/1 module MCP1600-C003, expected MMA1B00-C100D")));
  }
}

TEST(ModuleKind, BondsWithTwoKindsEverywhereAndUnreadModulesPass) {
  auto nodes = WithBonds();
  for (Node& node : nodes) NetdevOf(node, 1).mutable_module()->set_part_number("MCP1600-C003");
  EXPECT_THAT(KindFailures(nodes), IsEmpty());
  NetdevOf(nodes[2], 1).clear_module();
  EXPECT_THAT(KindFailures(nodes), IsEmpty());
}

TEST(ModuleRules, ModulesOfALinkThatIsDownAreNotJudged) {
  auto nodes = WithModules();
  for (v1::ModuleLane& lane : *ModuleOf(nodes[1]).mutable_lanes()) lane.set_rx_power_milliwatts(0);
  testing::LinkDown(nodes[1], 1);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n2/mlx5_1/1"));
}

TEST(ModuleRules, ProfileDecidesAndAsksForTheModule) {
  v1::Expectations expect;
  expect.set_module_part_number("MMA1B00-C100D");
  expect.set_module_temperature_max_celsius(40);
  auto nodes = WithModules();
  EXPECT_THAT(Failures({nodes[0]}, Expecting(expect)),
              ElementsAre("module_within_limits n1/mlx5_0/1", "module_within_limits n1/mlx5_1/1"));
  for (std::uint32_t rail = 0; rail < 2; ++rail) NetdevOf(nodes[0], rail).clear_module();
  EXPECT_THAT(Unknowns({nodes[0]}, Expecting(expect)),
              ElementsAre("module_kind_equal_on_rail n1", "module_within_limits n1"));
  EXPECT_THAT(Unknowns({nodes[0]}), IsEmpty());
}

}  // namespace
}  // namespace fabric::rules
