// Campaigns of the pattern CABLES in an InfiniBand subnet with known routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "daemon/blame/exact_routes.h"
#include "daemon/control/controller.h"
#include "subnet/checks/check.h"
#include "tests/testing/control_world.h"
#include "tests/testing/nodes.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::control {
namespace {

using subnet::testing::FatTree;
using subnet::testing::TestSubnet;
using testing::ControlWorld;
using ::testing::HasSubstr;

constexpr std::uint32_t kLeaves = 3;
constexpr std::uint32_t kHostsOfLeaf = 4;

// Three leaves, two spines, and nodes n1 to n12 of the fleet.
class RoutedWorld {
 public:
  explicit RoutedWorld(bool with_tables = true) {
    TestSubnet made = Make(FatTree{.leaves = kLeaves, .spines = 2, .hosts = kHostsOfLeaf});
    std::uint32_t host = 0;
    for (auto& node : made.nodes)
      if (!node.is_switch) node.guid = 0x505400fffe000000 + host++;  // Of its port: one more
    if (with_tables) made.Route();
    const subnet::Subnet read = made.Read();
    const subnet::Subnet* const subnets[] = {&read};
    fleet::InfinibandTopology topology = fleet::InfinibandTopology::Of(subnets);
    std::vector<const fleet::Attachment*> places;
    for (std::uint32_t number = 1; number <= kLeaves * kHostsOfLeaf; ++number) {
      const v1::NodeSnapshot node =
          testing::InfinibandNode({.number = number, .rails = 1, .gpu = false});
      places.push_back(topology.Find(node.rdma_devices(0), node.rdma_devices(0).ports(0)));
      EXPECT_NE(places.back(), nullptr) << number;
      EXPECT_TRUE(world.agents.Connect(node).ok());
    }
    routes_ = blame::ExactRoutes(topology, places);
    world.controller->SetInfiniband(std::move(topology), {}, world.agents.now());
  }

  // Probes whose path has the first cable of the path from n1 to n5 fail.
  std::string BreakCable() {
    std::vector<blame::ChannelId> path;
    EXPECT_TRUE(routes_.AddPath(0, kHostsOfLeaf, path));
    const blame::ChannelId bad = routes_.CableOf(path[0]);
    world.agents.SetPath([this, bad](const v1::ProbeAssignment& probe, v1::ProbeResult& result) {
      std::vector<blame::ChannelId> both;
      routes_.AddPath(IndexOf(probe.local()), IndexOf(probe.remote()), both);
      routes_.AddPath(IndexOf(probe.remote()), IndexOf(probe.local()), both);
      const auto is_bad = [&](blame::ChannelId each) { return routes_.CableOf(each) == bad; };
      if (std::ranges::none_of(both, is_bad)) return;
      result.Clear();
      result.set_status(v1::PROBE_STATUS_FAILED);
      result.set_reason("transport retry counter exceeded");
    });
    return "cable " + routes_.CableName(bad);
  }

  ControlWorld world;

 private:
  static std::uint32_t IndexOf(const v1::ProbePort& port) {
    return static_cast<std::uint32_t>(std::stoul(port.node().substr(1))) - 1;
  }

  blame::ExactRoutes routes_;
};

v1::CampaignSpec OverCables() {
  v1::CampaignSpec spec;
  spec.set_pattern(v1::CAMPAIGN_PATTERN_CABLES);
  return spec;
}

TEST(CablesCampaign, PassesEachCableWithFewPairs) {
  RoutedWorld routed;
  const v1::Campaign campaign = routed.world.Finish(routed.world.StartCampaign(OverCables()));
  EXPECT_EQ(campaign.probes_ok(), campaign.probes_planned());
  EXPECT_LE(campaign.probes_planned(), 2u * 12);
  EXPECT_TRUE(campaign.skipped().empty()) << campaign.skipped(0).text();
}

TEST(CablesCampaign, SaysWhichCablesTheNodesDoNotUse) {
  RoutedWorld routed;
  v1::CampaignSpec spec = OverCables();
  for (int n = 1; n <= 8; ++n) spec.add_nodes(Format("n{}", n));
  const v1::Campaign campaign = routed.world.Finish(routed.world.StartCampaign(spec));
  EXPECT_GT(campaign.probes_ok(), 0u);
  ASSERT_EQ(campaign.skipped_size(), 1);
  EXPECT_THAT(campaign.skipped(0).text(), HasSubstr("of 6 cables between switches are passed; no "
                                                    "route of these nodes uses"));
}

TEST(CablesCampaign, WithoutRoutesItDoesNotStart) {
  RoutedWorld routed(false);
  const Status status = routed.world.Refusal(OverCables());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("forwarding tables of the InfiniBand subnet"));
}

TEST(CablesCampaign, UntilDecidedNamesTheBadCable) {
  RoutedWorld routed;
  const std::string bad = routed.BreakCable();
  v1::CampaignSpec spec = OverCables();
  spec.set_until_decided(true);
  const v1::Campaign campaign = routed.world.Finish(routed.world.StartCampaign(spec));
  ASSERT_EQ(campaign.blame().suspects_size(), 1) << campaign.blame().ShortDebugString();
  EXPECT_EQ(campaign.blame().suspects(0).kind(), v1::SUSPECT_KIND_LINK);
  EXPECT_EQ(campaign.blame().suspects(0).name(), bad);
}

}  // namespace
}  // namespace fabric::control
