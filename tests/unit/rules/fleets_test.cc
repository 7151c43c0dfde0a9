// Fleets of several products, nodes that lack a card, cards that came up as another device. Rules
// do not compare different kinds of nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "tests/testing/node_machine.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using testing::DeviceOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Nodes;
using testing::PortOf;
using Fleet = std::vector<v1::NodeSnapshot>;

// Other names and addresses than those of the first part, and another product.
void Join(Fleet& fleet, Fleet part, const std::string& product) {
  for (v1::NodeSnapshot& node : part) {
    node.mutable_node()->set_name(product + "-" + node.node().name());
    node.mutable_node()->set_machine_id(Format("{:032x}", 1000 + fleet.size()));
    node.mutable_host()->set_product(product);
    fleet.push_back(std::move(node));
  }
}

Fleet StorageNodes(std::uint32_t count) {
  Fleet nodes;
  for (std::uint32_t i = 0; i < count; ++i) {
    v1::NodeSnapshot& node =
        nodes.emplace_back(testing::RoceNode({.number = 100 + i, .rails = 2, .gpu = false}));
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      testing::SetMtu(node, rail, 4200);
      testing::SetPfc(node, rail, 0);
      PortOf(node, rail).set_rate_bps(200'000'000'000);
      testing::NetdevOf(node, rail).set_speed_bps(200'000'000'000);
    }
  }
  return nodes;
}

TEST(FleetOfSeveralProducts, DoesNotCompareProducts) {
  for (const std::uint32_t storage : {1U, 3U, 9U}) {
    Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 8});
    Fleet part = StorageNodes(storage);
    Join(nodes, part, "storage");
    EXPECT_THAT(Failures(nodes), IsEmpty()) << storage;
  }
}

TEST(FleetOfSeveralProducts, ComparesWithinAProduct) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 8});
  Join(nodes, StorageNodes(3), "storage");
  testing::SetMtu(nodes[4], 1, 9000);
  testing::SetMtu(nodes[0], 0, 4200);
  EXPECT_THAT(Failures(nodes),
              ElementsAre("mtu_equal_on_rail n1/mlx5_0/1",
                          Format("mtu_equal_on_rail {}/mlx5_1/1", nodes[4].node().name())));
}

TEST(FleetOfSeveralProducts, MayRunSeveralReleases) {
  Fleet nodes = Nodes(2, testing::RoceNode, {.rails = 4});
  Fleet part = StorageNodes(3);
  for (auto& node : part) {
    node.mutable_node()->set_kernel_release("5.14.0-427.el9.x86_64");
    for (auto& device : *node.mutable_rdma_devices()) {
      device.set_firmware("28.36.1010");
      device.set_driver_version("5.8-4.1.5");
    }
  }
  Join(nodes, part, "storage");
  EXPECT_THAT(Failures(nodes), IsEmpty());
  for (auto& node : nodes) node.mutable_host()->clear_product();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "captures without DMI: other cards, another product";
  DeviceOf(nodes[4], 0).set_firmware("28.36.1000");
  EXPECT_THAT(Failures(nodes),
              ElementsAre(Format("firmware_equal {}/mlx5_0/1", nodes[4].node().name())));
}

// Separate pods: each has its own subnet manager, LIDs from 1 on, and default prefixes.
TEST(FleetOfSeveralProducts, MayHaveSeparateInfinibandFabrics) {
  Fleet nodes = Nodes(3, testing::InfinibandNode, {.rails = 4});
  for (std::uint32_t i = 0; i < 3; ++i) {
    v1::NodeSnapshot node = testing::InfinibandNode({.number = 100 + i, .rails = 2});
    for (std::uint32_t rail = 0; rail < 2; ++rail) {
      PortOf(node, rail).set_sm_lid(7);
      PortOf(node, rail).set_lid(PortOf(nodes[i], rail).lid());
    }
    Join(nodes, {node}, "pod");
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(MissingCard, GivesOneFindingAndShiftsNoRail) {
  Fleet nodes = Nodes(3, testing::InfinibandNode, {.rails = 5});
  for (auto& node : nodes) {  // Of two kinds by turns, as on machines with cards for storage
    for (const std::uint32_t rail : {1U, 3U}) {
      DeviceOf(node, rail).set_board_id("PSID of storage");
      PortOf(node, rail).set_rate_bps(200'000'000'000);
    }
  }
  testing::RemoveCard(nodes[1], 1);
  EXPECT_THAT(Failures(nodes), ElementsAre("fabric_card_present n2"));
}

// The role of a card depends on its traffic, which changes over time.
TEST(MissingCard, SkipsACardThatCarriesNfs) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 4});
  for (auto& node : nodes)
    for (auto& device : *node.mutable_rdma_devices()) {
      device.mutable_function()->set_kind(v1::FUNCTION_KIND_PHYSICAL);
      device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
    }
  DeviceOf(nodes[1], 3).mutable_function()->set_role(v1::FUNCTION_ROLE_STORAGE);
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

TEST(SoftwareDevice, DoesNotShiftTheRailsOfCards) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 3});
  for (auto& node : nodes)
    for (auto& device : *node.mutable_rdma_devices())
      device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
  const v1::NodeSnapshot rxe = testing::RxeNode({.number = 9, .rails = 1});
  v1::RdmaDevice& device = *nodes[1].add_rdma_devices();
  device = rxe.rdma_devices(0);
  device.mutable_function()->set_kind(v1::FUNCTION_KIND_SOFTWARE);
  device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
  device.mutable_ports(0)->set_netdev("eth0");
  EXPECT_THAT(Failures(nodes), ElementsAre("software_rdma_with_hardware n2/rxe0"));
}

void Stop(v1::NodeSnapshot& node, std::uint32_t rail) {
  testing::DropAddress(node, rail);
  testing::LinkDown(node, rail);
}

void SetDistances(v1::NodeSnapshot& node, std::uint32_t gpus) {
  node.clear_gpu_nic_paths();
  node.clear_gpus();
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    v1::Gpu& made = *node.add_gpus();
    made.set_pci_address(Format("0000:{:02x}:00.0", 0xc0 + gpu));
    made.set_vendor_id("10de");
    made.set_driver("nvidia");
    for (const auto& device : node.rdma_devices()) {
      v1::GpuNicPath& path = *node.add_gpu_nic_paths();
      path.set_gpu(made.pci_address());
      path.set_device(device.name());
      const bool near = device.name() == Format("mlx5_{}", gpu);
      path.set_acs_known(true);
      path.set_distance(near ? v1::PCI_DISTANCE_PIX : v1::PCI_DISTANCE_NODE);
    }
  }
}

TEST(PortActiveAlone, FailsForTheCardOfAGpu) {
  Fleet nodes = Nodes(1, testing::InfinibandNode, {.rails = 5});
  SetDistances(nodes[0], 4);
  Stop(nodes[0], 4);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "a fifth card, far from all GPUs, may be unused";
  Stop(nodes[0], 2);
  const v1::Finding finding = TheFailure(nodes);
  EXPECT_EQ(finding.rule(), "port_active");
  EXPECT_EQ(finding.subject().device(), "mlx5_2");
  EXPECT_EQ(finding.evidence(0).basis(),
            "3 of 4 ports of its kind near the GPUs of this node are ACTIVE");
}

TEST(PortActiveAlone, FailsForTheCardOfAGpuInAGuest) {
  Fleet nodes = Nodes(1, testing::InfinibandNode, {.rails = 4});
  SetDistances(nodes[0], 4);
  for (auto& path : *nodes[0].mutable_gpu_nic_paths()) path.clear_distance();
  Stop(nodes[0], 1);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n1/mlx5_1/1"));
  nodes[0].mutable_gpus()->RemoveLast();
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "four cards for three GPUs";
}

TEST(PortActiveAlone, FailsForTheOnlyInfinibandLinkOfANode) {
  Fleet nodes = Nodes(1, testing::InfinibandNode, {.rails = 2, .gpu = false});
  testing::MoveCard(nodes[0], 0, "0000:5e:00.0");
  testing::MoveCard(nodes[0], 1, "0000:5e:00.1");
  for (auto& device : *nodes[0].mutable_rdma_devices()) {
    device.mutable_function()->set_kind(v1::FUNCTION_KIND_PHYSICAL);
    device.mutable_function()->set_role(v1::FUNCTION_ROLE_FABRIC);
  }
  Stop(nodes[0], 1);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "the second port of a card is often unused";
  Stop(nodes[0], 0);
  EXPECT_THAT(Failures(nodes), ElementsAre("port_active n1/mlx5_0/1"));
}

TEST(GpuNearNic, IsAnEffectOfAMissingCard) {
  Fleet nodes = Nodes(3, testing::RoceNode, {.rails = 8});
  testing::RemoveCard(nodes[1], 3);
  for (auto& node : nodes) SetDistances(node, 8);
  EXPECT_THAT(Failures(nodes), ElementsAre("fabric_card_present n2", "gpu_near_nic n2"));
  std::vector<std::string> causes;
  for (const v1::Finding& finding : JudgeWithCauses(nodes).findings)
    if (finding.explained_by().empty()) causes.push_back(finding.rule());
  EXPECT_THAT(causes, ElementsAre("fabric_card_present"));
}

TEST(GpuNearNic, FailsWithFewerCardsThanGpus) {
  Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 3});
  SetDistances(nodes[0], 4);
  EXPECT_THAT(Failures(nodes), ElementsAre("gpu_near_nic n1"));
  SetDistances(nodes[0], 6);
  EXPECT_THAT(Failures(nodes), IsEmpty()) << "half of the GPUs have one: built so";
}

struct Setting {
  const char* what;
  void (*set)(v1::NodeSnapshot&, std::uint32_t rail);
};
constexpr Setting kSettings[] = {
    {"PFC", [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetPfc(node, rail, 16); }},
    {"traffic class",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       for (std::uint32_t i = 0; i < 4; ++i)
         PortOf(node, i).mutable_roce_defaults()->set_traffic_class(106);
       PortOf(node, rail).mutable_roce_defaults()->set_traffic_class(0);
     }},
    {"CNP DSCP",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       testing::NetdevOf(node, rail).mutable_congestion_control()->set_cnp_dscp(0);
     }},
    {"read request",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       for (auto& function : *node.mutable_pci_functions())
         if (function.address() == DeviceOf(node, rail).pci_address())
           function.set_max_read_request_bytes(256);
     }},
    {"relaxed ordering", [](v1::NodeSnapshot& node, std::uint32_t rail) {
       for (auto& function : *node.mutable_pci_functions())
         if (function.address() == DeviceOf(node, rail).pci_address())
           function.set_relaxed_ordering(!function.relaxed_ordering());
     }}};

TEST(SettingsEqualInNode, FailsForTheCardThatDiffers) {
  for (const Setting& setting : kSettings) {
    Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 4});
    SetDistances(nodes[0], 4);
    setting.set(nodes[0], 2);
    const auto failures = Failures(nodes);
    EXPECT_EQ(std::count(failures.begin(), failures.end(), "settings_equal_in_node n1/mlx5_2/1"), 1)
        << setting.what;
    nodes.push_back(testing::RoceNode({.number = 2, .rails = 4}));
    const auto in_fleet = Failures(nodes);
    EXPECT_EQ(std::count(in_fleet.begin(), in_fleet.end(), "settings_equal_in_node n1/mlx5_2/1"), 0)
        << setting.what << ": in a fleet rails are compared";
  }
}

TEST(SettingsEqualInNode, SkipsACardForStorage) {
  for (const Setting& setting : kSettings) {
    Fleet nodes = Nodes(1, testing::RoceNode, {.rails = 5});
    SetDistances(nodes[0], 4);
    setting.set(nodes[0], 4);
    const auto failures = Failures(nodes);
    EXPECT_EQ(std::count(failures.begin(), failures.end(), "settings_equal_in_node n1/mlx5_4/1"), 0)
        << setting.what;
  }
}

// Only mlx5 has board ids.
TEST(MtuEqualInNode, ComparesCardsOfOneModelWithoutBoards) {
  Fleet nodes = Nodes(1, testing::BnxtNode, {.rails = 4, .gpu = false});
  for (auto& device : *nodes[0].mutable_rdma_devices()) device.clear_board_id();
  testing::SetMtu(nodes[0], 3, 4200);
  EXPECT_THAT(Failures(nodes), ElementsAre("mtu_equal_in_node n1/bnxt_re3/1"));
}

// For any priority of data: a capture has no DCB.
TEST(EcnNotified, IsOffForAllPriorities) {
  Fleet nodes = Nodes(3, testing::RoceNode);
  for (auto& node : nodes)
    for (std::uint32_t rail = 0; rail < 2; ++rail) testing::NetdevOf(node, rail).clear_dcb();
  for (auto& on : *testing::NetdevOf(nodes[1], 1)
                       .mutable_congestion_control()
                       ->mutable_notification_point_enabled())
    on = false;
  EXPECT_THAT(Failures(nodes), ElementsAre("ecn_notified_on_data_priority n2/mlx5_1/1"));
}

// Settings of clusters, each on all ports. Without a profile they pass, or give one warning: nodes
// with GPUs and links of 100 Gb/s need more than the factory settings.
struct Style {
  const char* what;
  void (*set)(v1::NodeSnapshot&, std::uint32_t rail);
  const char* warning = "";  // The only rule that fails
};
constexpr Style kStyles[] = {
    {"lossy, ECN on",
     [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetPfc(node, rail, 0); }},
    {"global pause, as the card comes",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       testing::SetPfc(node, rail, 0);
       testing::NetdevOf(node, rail).mutable_global_pause()->set_rx(true);
       testing::NetdevOf(node, rail).mutable_global_pause()->set_tx(true);
     },
     "lossless_class_somewhere"},
    {"PFC on 3 and 4",
     [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetPfc(node, rail, 0x18); }},
    {"PFC on 5, the DSCP set by jobs",
     [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetPfc(node, rail, 0x20); }},
    {"PFC on 5, DSCP 46 by override",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       testing::SetPfc(node, rail, 0x20);
       PortOf(node, rail).mutable_roce_defaults()->set_traffic_class(184);
     }},
    {"lossy, marked: DSCP 26 with ECT(1)",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       testing::SetPfc(node, rail, 0);
       PortOf(node, rail).mutable_roce_defaults()->set_traffic_class(105);
     }},
    {"PFC without DCQCN",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       auto& control = *testing::NetdevOf(node, rail).mutable_congestion_control();
       for (auto& on : *control.mutable_notification_point_enabled()) on = false;
       for (auto& on : *control.mutable_reaction_point_enabled()) on = false;
     }},
    {"CNPs with DSCP 4",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       testing::NetdevOf(node, rail).mutable_congestion_control()->set_cnp_dscp(4);
     }},
    {"MTU 1500",
     [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetMtu(node, rail, 1500); },
     "rdma_mtu_of_fast_link"},
    {"MTU 4200",
     [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetMtu(node, rail, 4200); }},
    {"MTU 8896",
     [](v1::NodeSnapshot& node, std::uint32_t rail) { testing::SetMtu(node, rail, 8896); }},
    {"half the speed of the card",
     [](v1::NodeSnapshot& node, std::uint32_t rail) {
       PortOf(node, rail).set_rate_bps(200'000'000'000);
       testing::NetdevOf(node, rail).set_speed_bps(200'000'000'000);
     }},
    {"links of two addresses (/31)", [](v1::NodeSnapshot& node, std::uint32_t rail) {
       auto& netdev = testing::NetdevOf(node, rail);
       netdev.clear_addresses();
       netdev.add_addresses(Format("10.{}.{}.1/31", 100 + rail, node.node().name().size()));
     }}};

TEST(HealthyStyles, FailNothingButTheWarning) {
  for (const Style& style : kStyles) {
    for (const std::uint32_t count : {1U, 3U}) {
      Fleet nodes = Nodes(count, testing::RoceNode, {.rails = 4});
      for (auto& node : nodes)
        for (std::uint32_t rail = 0; rail < 4; ++rail) style.set(node, rail);
      std::set<std::string> failed;
      for (const v1::Finding& finding : Judge(nodes).findings)
        if (finding.verdict() == v1::VERDICT_FAIL) failed.insert(finding.rule());
      std::set<std::string> expected;
      if (*style.warning != '\0') expected.insert(style.warning);
      EXPECT_EQ(failed, expected) << style.what << " on " << count;
    }
  }
}

}  // namespace
}  // namespace fabric::rules
