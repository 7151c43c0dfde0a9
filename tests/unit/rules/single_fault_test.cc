// Healthy nodes of every kind have no failing finding, and each fault of the lab gives
// exactly one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "tests/unit/rules/judged.h"

namespace fabric::rules {
namespace {

using ::testing::IsEmpty;
using testing::Nodes;
using Node = v1::NodeSnapshot;

struct Kind {
  const char* name;
  v1::NodeSnapshot (*make)(const testing::NodeOptions&);
  bool fully_known;  // Nothing that a rule needs is missing
};
constexpr Kind kKinds[] = {{"mlx5", testing::RoceNode, true},
                           {"lab", testing::LabNode, true},
                           {"rxe", testing::RxeNode, false},
                           {"bnxt", testing::BnxtNode, true},
                           {"InfiniBand", testing::InfinibandNode, true},
                           {"iWARP", testing::IwarpNode, true}};

TEST(HealthyFleet, HasNoFailingFinding) {
  for (const Kind& kind : kKinds) {
    for (const std::uint32_t count : {1U, 2U, 3U, 17U}) {
      for (const bool gpu : {false, true}) {
        SCOPED_TRACE(Format("{} {} nodes, gpu {}", count, kind.name, gpu));
        const auto nodes = Nodes(count, kind.make, {.rails = 2, .gpu = gpu});
        EXPECT_THAT(Failures(nodes), IsEmpty());
        if (kind.fully_known) {
          EXPECT_THAT(Unknowns(nodes), IsEmpty());
        }
        EXPECT_GE(Judge(nodes).counts.pass(), count * 3);
      }
    }
  }
}

TEST(HealthyFleet, MayMixRoceInfinibandAndIwarp) {
  std::vector<Node> nodes;
  std::uint32_t number = 0;
  for (const Kind& kind : kKinds) nodes.push_back(kind.make({.number = ++number, .gpu = false}));
  for (std::uint32_t rail = 0; rail < 2; ++rail) {  // One MTU on the Ethernet ports
    testing::SetMtu(nodes[1], rail, 9000);
    testing::SetMtu(nodes[2], rail, 9000);
  }
  EXPECT_THAT(Failures(nodes), IsEmpty());
}

struct SingleFault {
  const char* what;
  void (*plant)(std::vector<Node>&);
  const char* finding;  // The one that it gives
};

constexpr SingleFault kSingleFaults[] = {
    {"MTU 1500", [](std::vector<Node>& n) { testing::SetMtu(n[1], 0, 1500); },
     "mtu_equal_on_rail n2/rxe0/1"},
    {"MTU 4096, which also gives a smaller RDMA MTU",
     [](std::vector<Node>& n) { testing::SetMtu(n[1], 0, 4096); }, "mtu_equal_on_rail n2/rxe0/1"},
    {"MTU 9000", [](std::vector<Node>& n) { testing::SetMtu(n[0], 1, 9000); },
     "mtu_equal_on_rail n1/rxe1/1"},
    {"an RDMA MTU that does not follow the netdev's",
     [](std::vector<Node>& n) { testing::PortOf(n[1], 0).set_active_mtu_bytes(1024); },
     "rdma_mtu_matches_netdev n2/rxe0/1"},
    {"PFC for one priority more", [](std::vector<Node>& n) { testing::SetPfc(n[2], 1, 0x18); },
     "pfc_equal_on_rail n3/rxe1/1"},
    {"PFC for another priority", [](std::vector<Node>& n) { testing::SetPfc(n[2], 1, 0x10); },
     "pfc_equal_on_rail n3/rxe1/1"},
    {"PFC off", [](std::vector<Node>& n) { testing::SetPfc(n[0], 0, 0); },
     "pfc_equal_on_rail n1/rxe0/1"},
    {"DSCP 26 to priority 0", [](std::vector<Node>& n) { testing::MapDscp(n[1], 0, 26, 0); },
     "pfc_covers_roce_dscp n2/rxe0/1"},
    {"DSCP not trusted", [](std::vector<Node>& n) { testing::TrustPcp(n[1], 1); },
     "pfc_covers_roce_dscp n2/rxe1/1"},
    {"another node's address",
     [](std::vector<Node>& n) { testing::SetAddress(n[2], 0, "10.10.0.1"); },
     "duplicate_gid fleet"},
    {"link down", [](std::vector<Node>& n) { testing::LinkDown(n[1], 0); },
     "port_active n2/rxe0/1"},
    {"link down, and the rest with it",
     [](std::vector<Node>& n) {
       testing::LinkDown(n[1], 0);
       testing::SetMtu(n[1], 0, 1500);
       testing::SetPfc(n[1], 0, 0);
       testing::PortOf(n[1], 0).clear_gids();
     },
     "port_active n2/rxe0/1"},
    {"address lost", [](std::vector<Node>& n) { testing::DropAddress(n[1], 1); },
     "roce_v2_gid_present n2/rxe1/1"},
    {"peermem unloaded", [](std::vector<Node>& n) { testing::UnloadPeermem(n[2]); },
     "peermem_loaded n3"},
};

TEST(SingleFault, GivesExactlyOneFinding) {
  for (const SingleFault& fault : kSingleFaults) {
    for (const std::uint32_t count : {3U, 8U}) {
      SCOPED_TRACE(Format("{} nodes: {}", count, fault.what));
      auto nodes = Nodes(count, testing::LabNode);
      fault.plant(nodes);
      EXPECT_THAT(Failures(nodes), ::testing::ElementsAre(fault.finding));
      EXPECT_THAT(Unknowns(nodes), IsEmpty());
    }
  }
}

TEST(SingleFault, GivesOneFindingWithTwoNodes) {
  for (const SingleFault& fault : kSingleFaults) {
    SCOPED_TRACE(fault.what);
    auto nodes = Nodes(3, testing::LabNode);
    fault.plant(nodes);
    const std::string broken(fault.finding);
    nodes.erase(nodes.begin() + (broken.find("n1/") != std::string::npos ? 1 : 0));
    if (broken == "duplicate_gid fleet") continue;  // Its pair is gone
    EXPECT_THAT(Failures(nodes), ::testing::SizeIs(1));
  }
}

std::string Text(const Evaluation& evaluation) {
  std::string text = evaluation.counts.ShortDebugString() + "\n";
  for (const v1::Finding& finding : evaluation.findings) text += finding.ShortDebugString() + "\n";
  return text;
}

TEST(Outcome, DoesNotDependOnTheOrderOfNodes) {
  auto nodes = Nodes(8, testing::LabNode);
  for (const SingleFault& fault : kSingleFaults) fault.plant(nodes);
  const std::string expected = Text(Judge(nodes));
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(nodes.begin(), nodes.end(), random);
    ASSERT_EQ(Text(Judge(nodes)), expected) << "shuffle " << i << " of seed 7";
  }
}

// Rule, node, netdev and rail of each finding, without the device name.
std::vector<std::string> Places(const std::vector<Node>& nodes) {
  std::vector<std::string> places;
  for (const v1::Finding& finding : Judge(nodes).findings)
    if (finding.rule() != "device_names_equal")  // The one that is about names
      places.push_back(Format("{} {} {} {}", finding.rule(), finding.subject().node(),
                              finding.subject().netdev(), finding.subject().rail()));
  std::sort(places.begin(), places.end());
  return places;
}

TEST(Outcome, DoesNotDependOnTheNamesOfDevices) {
  for (const auto make : {testing::LabNode, testing::RoceNode}) {
    auto nodes = Nodes(8, make, {.rails = 4});
    for (const SingleFault& fault : kSingleFaults) fault.plant(nodes);
    const auto expected = Places(nodes);
    std::mt19937 random(11);
    for (int i = 0; i < 20; ++i) {
      for (Node& node : nodes) {
        std::vector<int> numbers = {0, 1, 2, 3};
        std::shuffle(numbers.begin(), numbers.end(), random);
        for (int d = 0; d < 4; ++d)
          node.mutable_rdma_devices(d)->set_name(
              Format("dev{}", numbers[static_cast<std::size_t>(d)]));
        std::sort(node.mutable_rdma_devices()->begin(), node.mutable_rdma_devices()->end(),
                  [](const auto& a, const auto& b) { return a.name() < b.name(); });
      }
      ASSERT_EQ(Places(nodes), expected) << "renaming " << i << " of seed 11";
    }
  }
}

}  // namespace
}  // namespace fabric::rules
