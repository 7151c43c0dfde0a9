// An InfiniBand fabric whose leaves are known by a topology file alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "tests/testing/infiniband.h"
#include "tests/testing/nodes.h"
#include "tests/unit/blame/bench.h"

namespace fabric::blame {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::uint32_t kFabricNodes = 12;
constexpr std::uint32_t kPerLeaf = 4;
constexpr std::uint32_t kSpines = 4;
constexpr testing::Layout kLayout{.nodes = kFabricNodes, .rails = 1, .per_leaf = kPerLeaf};

// Three leaves, four spines; nodes n10 to n21 as in bench.h.
std::string Discovered() {
  std::string text = "# Topology file: generated on Sat Nov 21 09:30:12 2026\n";
  for (std::uint32_t leaf = 0; leaf < kFabricNodes / kPerLeaf; ++leaf) {
    text += Format("Switch 65 \"S-00000000000000a{0}\" # \"MF0;ib-{0}:MQM9700/U1\" base\n", leaf);
    for (std::uint32_t port = 0; port < kPerLeaf; ++port)
      text += Format("[{}] \"H-505400fffe{:06x}\"[1](505400fffe{:06x}) # \"n\" lid 5 4xNDR\n",
                     port + 1, 10 + leaf * kPerLeaf + port, 10 + leaf * kPerLeaf + port);
    for (std::uint32_t spine = 0; spine < kSpines; ++spine)
      text += Format("[{}] \"S-00000000000000b{}\"[{}] # \"spine\" lid 9 4xNDR\n", 33 + spine,
                     spine, leaf + 1);
  }
  return text;
}

Fabric Discover() {
  fleet::Fleet fleet;
  for (std::uint32_t node = 0; node < kFabricNodes; ++node)
    fleet.Put(fabric::testing::InfinibandNode({.number = 10 + node, .rails = 1, .gpu = false}), {});
  fleet::Sites sites;
  fleet::InfinibandTopology topology = fabric::testing::TopologyOf(Discovered());
  topology.set_made_at(WallTime(std::chrono::seconds(1'800'000'000)));
  sites.set_infiniband(std::move(topology));
  return FabricOf(fleet::FleetView(fleet), sites);
}

// Indexes of its switches are no longer those of the ports that were read.
TEST(InfinibandBlame, ATopologyThatIsReplacedWhileNodesAreReadGivesNoPaths) {
  fleet::Fleet fleet;
  for (std::uint32_t node = 0; node < kFabricNodes; ++node)
    fleet.Put(fabric::testing::InfinibandNode({.number = 10 + node, .rails = 1, .gpu = false}), {});
  const fleet::FleetView view(fleet);
  fleet::Sites sites;
  for (const bool replaced : {false, true}) {
    sites.set_infiniband(fabric::testing::TopologyOf(Discovered()));
    FabricBuilder builder{v1::CampaignSpec()};
    for (const fleet::NodeView& node : view.nodes()) builder.Add(node, sites);
    if (replaced) sites.set_infiniband(fabric::testing::TopologyOf(Discovered().substr(0, 300)));
    builder.AddTopology(sites);
    const Fabric fabric = std::move(builder).Build();
    EXPECT_EQ(fabric.endpoints.size(), kFabricNodes);
    EXPECT_EQ(fabric.links_up.empty(), replaced);
  }
}

TEST(InfinibandBlame, NamesTheUplinkOfALeafAndItsLinks) {
  const auto leaf = [](std::uint32_t endpoint) { return endpoint / kPerLeaf; };
  const auto bad = [&](const Observation& seen) {
    const bool out = leaf(seen.from) != leaf(seen.to);
    const bool touches = leaf(seen.from) == 1 || leaf(seen.to) == 1;
    return out && touches && (seen.from * 31 + seen.to * 17 + seen.flow_label * 7) % 4 == 2;
  };
  const auto seen = testing::With(testing::Healthy(kLayout), bad,
                                  [](Observation& one) { testing::Lose(one, 0.3); });
  const v1::BlameReport report = Judge(Discover(), seen);
  ASSERT_EQ(report.suspects_size(), 1) << report.DebugString();
  const v1::Suspect& suspect = report.suspects(0);
  EXPECT_EQ(suspect.kind(), v1::SUSPECT_KIND_UPLINK);
  EXPECT_EQ(suspect.leaf(), "ib-1");
  EXPECT_THAT(suspect.name(), StartsWith("ib-1 uplinks, one path of"));
  EXPECT_THAT(suspect.evidence(),
              Contains("leaf from the InfiniBand topology of 2027-01-15T08:00:00Z"));
  EXPECT_THAT(
      suspect.evidence(),
      Contains(StartsWith("its links to other switches: port 33 to spine 00000000000000b0 port "
                          "2, port 34 to")));
}

TEST(InfinibandBlame, NamesAPortWithItsPlaceAtTheLeaf) {
  const auto seen = testing::With(
      testing::Healthy(kLayout), [](const auto& one) { return testing::Touches(one, 6); },
      testing::Dead);
  const v1::BlameReport report = Judge(Discover(), seen);
  ASSERT_EQ(report.suspects_size(), 1) << report.DebugString();
  EXPECT_EQ(report.suspects(0).name(), "n16/mlx5_0/1");
  EXPECT_EQ(report.suspects(0).leaf(), "ib-1");
  EXPECT_EQ(report.suspects(0).leaf_port(), "3");
}

TEST(InfinibandBlame, WithoutTheFileNamesNoLeaf) {
  Fabric fabric = Discover();
  for (Endpoint& endpoint : fabric.endpoints) endpoint.leaf.clear();
  const auto seen = testing::With(
      testing::Healthy(kLayout),
      [](const auto& one) { return one.from / kPerLeaf == 1 || one.to / kPerLeaf == 1; },
      testing::Dead);
  const v1::BlameReport report = Judge(fabric, seen);
  EXPECT_GT(report.suspects_size() + report.undecided_size(), 0) << report.DebugString();
  for (const v1::Suspect& suspect : report.suspects())
    EXPECT_EQ(suspect.leaf(), "") << suspect.DebugString();
}

}  // namespace
}  // namespace fabric::blame
