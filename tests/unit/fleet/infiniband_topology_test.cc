#include "daemon/fleet/infiniband_topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "tests/testing/infiniband.h"
#include "tests/testing/nodes.h"
#include "tests/testing/paths.h"

namespace fabric::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TopologyOf;

std::string Fixture(const std::string& name) {
  std::ifstream file(std::filesystem::path(testing::kSourceDir) / "tests/fixtures/infiniband" /
                     name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "leaf-1 port 3", or "-".
std::string Where(const InfinibandTopology& topology, const std::string& port_guid,
                  const std::string& node_guid = "", std::uint32_t number = 1) {
  v1::RdmaDevice device;
  device.set_node_guid(node_guid);
  v1::Port port;
  port.set_number(number);
  port.set_port_guid(port_guid);
  const Attachment* const attachment = topology.Find(device, port);
  if (attachment == nullptr) return "-";
  return Format("{} port {}", topology.switches().at(attachment->leaf).name, attachment->port);
}

std::vector<std::string> Links(const InfinibandTopology& topology, const std::string& name) {
  std::vector<std::string> links;
  for (const InfinibandSwitch& each : topology.switches())
    for (const SwitchLink& link : each.links)
      if (each.name == name)
        links.push_back(Format("{} to {} {}", link.port, topology.switches()[link.other].name,
                               link.other_port));
  return links;
}

TEST(InfinibandTopology, TellsLeavesPortsAndLinks) {
  const InfinibandTopology topology = TopologyOf(Fixture("two_leaves.txt"));
  EXPECT_THAT(topology.ambiguous(), IsEmpty());
  EXPECT_EQ(topology.switches().size(), 4u);
  EXPECT_EQ(topology.ports(), 9u) << "eight of nodes, one in a switch";
  EXPECT_EQ(Where(topology, "5054:00ff:fe00:0003"), "ib-leaf-1 port 3");
  EXPECT_EQ(Where(topology, "", "5054:00ff:fe00:0006"), "ib-leaf-2 port 2");
  EXPECT_EQ(Where(topology, "", "5054:00ff:fe00:0006", 2), "-") << "a port that is not plugged in";
  EXPECT_EQ(Where(topology, "0000:0000:0000:0000", "no guid"), "-");
  EXPECT_THAT(Links(topology, "ib-leaf-2"),
              ElementsAre("33 to ib-spine-1 2", "34 to ib-spine-2 2"));
  EXPECT_THAT(Links(topology, "ib-spine-1"), ElementsAre("1 to ib-leaf-1 33", "2 to ib-leaf-2 33"));
}

// Lines as different versions and options print them.
TEST(InfinibandTopology, ReadsFilesOfAllAges) {
  for (const auto& [what, text] : std::vector<std::pair<const char*, const char*>>{
           {"blanks for tabs, indented, as people paste it",
            "  Switch  36 \"S-0002c9020046c588\"   # \"leaf-1\" base port 0 lid 2 lmc 0\n"
            "  [33]   \"H-0002c903000d7aac\"[1](2c903000d7aad)   # \"ip-160 HCA-1\" lid 5 4xQDR\n"},
           {"of the adapter alone",
            "Ca\t1 \"H-0002c903000d7aac\"\t\t# \"ip-160 HCA-1\"\n"
            "[1](2c903000d7aad) \t\"S-0002c9020046c588\"[33]\t\t# lid 5 lmc 0 \"leaf-1\" lid 2 "
            "4xQDR\n"
            "Switch\t36 \"S-0002c9020046c588\"\t\t# \"leaf-1\" base port 0 lid 2 lmc 0\n"},
           {"-g, with Windows line ends",
            "Chassis 1 (guid 0x8f10400411a08)\r\nvendid=0x8f1\r\nsysimgguid=0x1\t\t# Chassis 1\r\n"
            "switchguid=0x2c9020046c588(2c9020046c588)\t# ISR9288 line 3 chip 1\r\n"
            "Switch\t24 \"S-0002c9020046c588\"\t\t# \"leaf-1\" enhanced port 0 lid 2 lmc 0\r\n"
            "[33][ext 9]\t\"H-0002c903000d7aac\"[1](2c903000d7aad) \t\t# \"a\" lid 5 4xSDR\r\n"},
           {"-f, a warning among the lines, GUIDs with 0x, a quote in a description",
            "ibwarn: [6931] mad_rpc: _do_madrpc failed\n"
            "Switch\t36 \"S-0x0002c9020046c588\"\t# \"leaf-1\" base port 0 lid 2 lmc 0\n"
            "[33]\t\"H-0x0002c903000d7aac\"[1](0x2c903000d7aad) # \"a \"b\" lid 9\" lid 5 4xXDR "
            "s=4 "
            "w=2 v=4\n"}}) {
    SCOPED_TRACE(what);
    const InfinibandTopology topology = TopologyOf(text);
    EXPECT_EQ(Where(topology, "0002:c903:000d:7aad"), "leaf-1 port 33");
    v1::RdmaDevice device;
    v1::Port port;
    port.set_port_guid("0002:c903:000d:7aad");
    EXPECT_EQ(topology.Find(device, port)->lid, 5u);
  }
}

TEST(InfinibandTopology, CallsSwitchesAsPeopleDo) {
  const auto name = [](const std::string& description) {
    return TopologyOf(Format("Switch 36 \"S-000000000000000a\" # \"{}\" base port 0 lid 2 lmc 0\n"
                             "[1] \"H-0000000000000001\"[1](1) # \"a\" lid 5 4xHDR\n",
                             description))
        .switches()
        .at(0)
        .name;
  };
  EXPECT_EQ(name("MF0;pod229-ib-02:MQM9700/U1"), "pod229-ib-02");
  EXPECT_EQ(name("MF0;core:CS7500/L01/U2"), "core/L01/U2");
  EXPECT_EQ(name("MF0;core:CS7500/L01/U1"), "core/L01/U1");
  EXPECT_EQ(name("MF0;"), "S-000000000000000a");
  EXPECT_EQ(name("leaf 7, row b"), "leaf 7, row b");
  EXPECT_EQ(name(""), "S-000000000000000a");
  const InfinibandTopology twins = TopologyOf(
      "Switch 36 \"S-000000000000000a\" # \"Quantum Mellanox Technologies\" base port 0 lid 2\n"
      "[1] \"H-0000000000000001\"[1](1) # \"a\" lid 5 4xHDR\n"
      "Switch 36 \"S-000000000000000b\" # \"Quantum Mellanox Technologies\" base port 0 lid 3\n"
      "[1] \"H-0000000000000002\"[1](2) # \"b\" lid 6 4xHDR\n");
  EXPECT_EQ(Where(twins, "0000:0000:0000:0001"),
            "Quantum Mellanox Technologies 000000000000000a port 1");
  EXPECT_EQ(Where(twins, "0000:0000:0000:0002"),
            "Quantum Mellanox Technologies 000000000000000b port 1");
}

// Two files in one, or an adapter that moved while the fabric was walked through.
TEST(InfinibandTopology, DoesNotGuessWhereTwoCablesAreTold) {
  const InfinibandTopology topology = TopologyOf(
      "Switch 36 \"S-000000000000000a\" # \"a\" base port 0 lid 2 lmc 0\n"
      "[1] \"H-0000000000000001\"[1](1) # \"n1\" lid 5 4xHDR\n"
      "[2] \"H-0000000000000002\"[1](2) # \"n2\" lid 6 4xHDR\n"
      "Switch 36 \"S-000000000000000b\" # \"b\" base port 0 lid 3 lmc 0\n"
      "[7] \"H-0000000000000001\"[1](1) # \"n1\" lid 5 4xHDR\n"
      "[8] \"H-0000000000000003\"[1](3) # \"n3\" lid 7 4xHDR\n"
      "[8] \"H-0000000000000004\"[1](4) # \"n4\" lid 8 4xHDR\n");
  EXPECT_EQ(Where(topology, "0000:0000:0000:0001"), "-");
  EXPECT_EQ(Where(topology, "0000:0000:0000:0002"), "a port 2");
  EXPECT_EQ(Where(topology, "0000:0000:0000:0003"), "-");
  EXPECT_EQ(Where(topology, "0000:0000:0000:0004"), "-");
  EXPECT_THAT(topology.ambiguous(), ElementsAre("node \"n1\" port 1", "switch \"b\" port 8"));
}

// Switches of two rails may have the same name.
TEST(InfinibandTopology, HoldsSeveralSubnets) {
  std::vector<subnet::Subnet> rails;
  for (const char rail : {'1', '2'})
    rails.push_back(testing::SubnetOf(
        Format("Switch 65 \"S-00000000000000a{0}\" # \"leaf\" base port 0 lid 1 lmc 0\n"
               "[1] \"H-000000000000000{0}\"[1](b{0}) # \"n1 mlx5_{0}\" lid 5 4xNDR\n",
               rail)));
  const subnet::Subnet* const subnets[] = {&rails[0], &rails[1]};
  const InfinibandTopology topology = InfinibandTopology::Of(subnets);
  EXPECT_EQ(Where(topology, "0000:0000:0000:00b1"), "leaf 00000000000000a1 port 1");
  EXPECT_EQ(Where(topology, "0000:0000:0000:00b2"), "leaf 00000000000000a2 port 1");
}

Fleet EightNodes() {
  Fleet fleet;
  for (const v1::NodeSnapshot& node :
       testing::Nodes(8, testing::InfinibandNode, {.rails = 1, .gpu = false}))
    fleet.Put(node, {});
  return fleet;
}

TopologyCoverage CoverOf(const Sites& sites, const FleetView& view) {
  TopologyCoverage all;
  for (const NodeView& node : view.nodes()) {
    const TopologyCoverage cover = sites.Cover(node);
    all.placed += cover.placed;
    all.unknown += cover.unknown;
    all.lid_mismatches += cover.lid_mismatches;
  }
  return all;
}

TEST(Sites, PlaceInfinibandPortsByTheTopology) {
  const Fleet fleet = EightNodes();
  const FleetView view(fleet);
  Sites sites;
  const PortView& port = view.Find("n6")->ports.at(0);
  EXPECT_EQ(sites.Of(port), Site());
  sites.set_infiniband(TopologyOf(Fixture("two_leaves.txt")));
  EXPECT_EQ(sites.Of(port).leaf, "ib-leaf-2");
  EXPECT_EQ(sites.LeafPort(port), "2");
  EXPECT_EQ(CoverOf(sites, view), (TopologyCoverage{.placed = 8}));
  v1::Profile written;
  written.add_places()->set_leaf("by-hand");
  Sites both(*profile::Places::Make(written, {}));
  EXPECT_EQ(both.Of(port).leaf, "by-hand");
  both.set_infiniband(sites.infiniband());
  EXPECT_EQ(both.Of(port).leaf, "ib-leaf-2") << "what was discovered wins over what was written";
}

// A file that was made after the link went down lacks the port.
TEST(Fleet, RemembersTheSwitchesOfTheTopology) {
  Fleet fleet = EightNodes();
  (void)fleet.TakeChanged();
  const InfinibandTopology topology = TopologyOf(Fixture("two_leaves.txt"));
  const auto use = [&](const InfinibandTopology* now) {
    fleet.SetInfiniband(now);
    for (int n = 1; n <= 8; ++n) fleet.UpdateSwitches("n" + std::to_string(n));
  };
  use(&topology);
  EXPECT_EQ(fleet.TakeChanged().size(), 8U);
  v1::NodeSnapshot down = testing::InfinibandNode({.number = 6, .rails = 1, .gpu = false});
  testing::LinkDown(down, 0);
  fleet.Put(down, {});
  use(nullptr);
  EXPECT_TRUE(fleet.TakeChanged().empty());
  const FleetView view(fleet);
  EXPECT_EQ(view.Find("n6")->ports.at(0).switch_name, "ib-leaf-2");
}

TEST(Sites, PreferWhatIsHeardToTheTopology) {
  Fleet fleet = EightNodes();
  const FleetView view(fleet);
  Sites sites;
  sites.set_infiniband(TopologyOf(Fixture("two_leaves.txt")));
  v1::LldpNeighbor neighbor;
  neighbor.set_system_name("heard");
  neighbor.set_port_id("swp9");
  PortView port = view.Find("n1")->ports.at(0);
  port.neighbor = &neighbor;
  EXPECT_EQ(sites.Of(port).leaf, "heard");
  EXPECT_EQ(sites.LeafPort(port), "swp9");
}

TEST(Sites, CountWhatTheTopologyDoesNotKnowAndWhatIsNotAsItSays) {
  Fleet fleet = EightNodes();
  fleet.Put(testing::InfinibandNode({.number = 9, .rails = 1, .gpu = false}), {});
  v1::NodeSnapshot moved = testing::InfinibandNode({.number = 3, .rails = 1, .gpu = false});
  testing::PortOf(moved, 0).set_lid(999);
  fleet.Put(moved, {});
  v1::NodeSnapshot down = testing::InfinibandNode({.number = 4, .rails = 1, .gpu = false});
  testing::LinkDown(down, 0);
  fleet.Put(down, {});
  fleet.Put(testing::RoceNode({.number = 10, .rails = 1, .gpu = false}), {});
  Sites sites;
  sites.set_infiniband(TopologyOf(Fixture("two_leaves.txt")));
  EXPECT_EQ(CoverOf(sites, FleetView(fleet)),
            (TopologyCoverage{.placed = 7, .unknown = 1, .lid_mismatches = 1}));
}

}  // namespace
}  // namespace fabric::fleet
