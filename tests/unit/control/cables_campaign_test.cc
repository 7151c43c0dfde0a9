// Campaigns of the pattern CABLES in an InfiniBand subnet with known routes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "base/jws.h"
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

// Three leaves, two or more spines, and nodes n1 to n12 of the fleet.
class RoutedWorld {
 public:
  explicit RoutedWorld(bool with_tables = true, std::uint32_t spines = 2,
                       const ControllerOptions& options = {})
      : world(options) {
    TestSubnet made = Make(FatTree{.leaves = kLeaves, .spines = spines, .hosts = kHostsOfLeaf});
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

  // From now on.
  void RecordPaths(std::set<blame::ChannelId>& passed) {
    world.agents.SetPath([this, &passed](const v1::ProbeAssignment& probe, v1::ProbeResult&) {
      AddPaths(IndexOf(probe.local()), IndexOf(probe.remote()), passed);
    });
  }
  std::set<blame::ChannelId> UsedChannels() const {
    std::set<blame::ChannelId> used;
    for (std::uint32_t from = 0; from < kLeaves * kHostsOfLeaf; ++from)
      for (std::uint32_t to = 0; to < from; ++to) AddPaths(from, to, used);
    return used;
  }

  ControlWorld world;

 private:
  void AddPaths(std::uint32_t a, std::uint32_t b, std::set<blame::ChannelId>& channels) const {
    std::vector<blame::ChannelId> both;
    routes_.AddPath(a, b, both);
    routes_.AddPath(b, a, both);
    channels.insert(both.begin(), both.end());
  }
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

v1::Certificate Certify(ControlWorld& world, std::uint32_t within_s) {
  v1::StartCertificateRequest request;
  for (std::uint32_t number = 1; number <= kLeaves * kHostsOfLeaf; ++number)
    request.mutable_request()->add_nodes(Format("n{}", number));
  request.mutable_request()->set_within_seconds(within_s);
  v1::Certificate started;
  EXPECT_TRUE(world.controller->Call(request, started, world.agents.now()).ok());
  for (int step = 0; step < 200; ++step) {
    world.agents.Advance(std::chrono::milliseconds(100));
    v1::GetCertificateRequest get;
    get.set_id(started.id());
    v1::GetCertificateResponse response;
    EXPECT_TRUE(world.controller->Call(get, response, world.agents.now()).ok());
    if (response.certificate().state() == v1::CERTIFICATE_STATE_DONE) return response.certificate();
  }
  ADD_FAILURE() << "the certificate is not done in time";
  return started;
}

std::vector<std::string> CableGaps(const v1::Certificate& certificate) {
  std::vector<std::string> gaps;
  for (const v1::CoverageGap& gap : certificate.not_covered())
    if (gap.text().find("cables between switches") != std::string::npos) gaps.push_back(gap.text());
  return gaps;
}

// Eight spines: each cable carries few pairs. The time does not suffice for all pairs.
TEST(CablesOfACertificate, AreAllPassedByRoutesOfItsNodes) {
  ControllerOptions options;
  options.certificates.key = *SigningKey::Generate();
  options.certificates.issuer = "fabricd 9 at head1";
  RoutedWorld routed(true, 8, options);
  std::set<blame::ChannelId> passed;
  routed.RecordPaths(passed);
  const v1::Certificate certificate = Certify(routed.world, 2);
  EXPECT_EQ(passed, routed.UsedChannels());
  EXPECT_THAT(CableGaps(certificate), ::testing::IsEmpty());
  EXPECT_EQ(certificate.verdict(), v1::VERDICT_PASS) << certificate.ShortDebugString();
}

}  // namespace
}  // namespace fabric::control
