// Names of bad cables and switches by exact paths, in a simulated subnet.
#include "daemon/blame/cables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/text.h"
#include "daemon/blame/analyzer.h"
#include "tests/unit/blame/cable_pairs.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::blame {
namespace {

using subnet::testing::FatTree;
using subnet::testing::Pods;
using subnet::testing::TestSubnet;
using ::testing::IsEmpty;

// A subnet whose hosts are all probed, with a bad cable or switch.
class CableWorld {
 public:
  explicit CableWorld(TestSubnet made) {
    made.Route();
    const subnet::Subnet read = made.Read();
    const subnet::Subnet* const subnets[] = {&read};
    topology_ = fleet::InfinibandTopology::Of(subnets);
    std::vector<const fleet::Attachment*> attachments;
    for (const auto& node : made.nodes) {
      if (node.is_switch) continue;
      v1::RdmaDevice device;
      v1::Port port;
      port.set_port_guid(Format("{:016x}", node.guid + 1));
      attachments.push_back(topology_.Find(device, port));
      fabric_.endpoints.push_back({.node = node.name.substr(0, node.name.find(' ')),
                                   .device = "mlx5_0",
                                   .port = 1,
                                   .rail = 0,
                                   .leaf = topology_.switches()[attachments.back()->leaf].name,
                                   .leaf_port = std::to_string(attachments.back()->port)});
    }
    fabric_.routes = ExactRoutes(topology_, attachments);
    for (std::uint32_t index = 0; index < topology_.switches().size(); ++index)
      for (const fleet::SwitchLink& link : topology_.switches()[index].links)
        if (index < link.other) cables_.emplace_back(index, link.port);
  }

  const Fabric& fabric() const { return fabric_; }
  std::size_t cables() const { return cables_.size(); }

  // Loss of packets in one direction or both.
  void Break(std::size_t cable, double loss, bool both) {
    bad_ = cables_[cable];
    loss_ = loss;
    both_ = both;
  }
  void BreakSwitch(const std::string& name) {
    for (std::uint32_t index = 0; index < topology_.switches().size(); ++index)
      if (topology_.switches()[index].name == name) bad_switch_ = index;
    loss_ = 1;
  }
  ChannelId ChannelOf(std::size_t cable) const {
    const auto& [index, port] = cables_[cable];
    for (ChannelId channel = 0;; ++channel)
      if (fabric_.routes.SwitchOf(channel) == index && fabric_.routes.PortOf(channel) == port)
        return channel;
  }
  std::string BadName() const {
    const auto& [index, port] = bad_;
    for (const fleet::SwitchLink& link : topology_.switches()[index].links)
      if (link.port == port)
        return Format("cable {} port {} - {} port {}", topology_.switches()[index].name, port,
                      topology_.switches()[link.other].name, link.other_port);
    return {};
  }

  void Probe(const std::vector<ProbeRequest>& pairs, std::uint32_t round, std::mt19937_64& random) {
    for (const ProbeRequest& pair : pairs) {
      std::vector<ChannelId> channels;
      EXPECT_TRUE(fabric_.routes.AddPath(pair.from, pair.to, channels));
      EXPECT_TRUE(fabric_.routes.AddPath(pair.to, pair.from, channels));
      double passes = 1 - 1e-5;
      for (const ChannelId channel : channels)
        if (IsBad(channel)) passes *= 1 - loss_;
      constexpr std::uint32_t kPackets = 200;
      const std::uint32_t lost =
          std::binomial_distribution<std::uint32_t>(kPackets, 1 - passes)(random);
      observations_.push_back({.from = pair.from,
                               .to = pair.to,
                               .round = round,
                               .attempts = kPackets,
                               .failures = lost});
    }
  }
  const std::vector<Observation>& observations() const { return observations_; }

 private:
  bool IsBad(ChannelId channel) const {
    const ExactRoutes& routes = fabric_.routes;
    if (bad_switch_ && (routes.SwitchOf(channel) == *bad_switch_ ||
                        routes.SwitchOf(routes.Reverse(channel)) == *bad_switch_))
      return true;
    const auto is = [&](ChannelId each) {
      return routes.SwitchOf(each) == bad_.first && routes.PortOf(each) == bad_.second;
    };
    return loss_ > 0 && !bad_switch_ && (is(channel) || (both_ && is(routes.Reverse(channel))));
  }

  fleet::InfinibandTopology topology_;
  Fabric fabric_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cables_;
  std::pair<std::uint32_t, std::uint32_t> bad_{};
  std::optional<std::uint32_t> bad_switch_;
  double loss_ = 0;
  bool both_ = true;
  std::vector<Observation> observations_;
};

// Channels on the path of any pair; routing uses no others.
std::set<ChannelId> UsedChannels(const Fabric& fabric) {
  std::set<ChannelId> used;
  std::vector<ChannelId> channels;
  const auto ends = static_cast<std::uint32_t>(fabric.endpoints.size());
  for (std::uint32_t from = 0; from < ends; ++from) {
    channels.clear();
    for (std::uint32_t to = 0; to < ends; ++to) fabric.routes.AddPath(from, to, channels);
    used.insert(channels.begin(), channels.end());
  }
  return used;
}

std::vector<std::string> NamesOf(const CableWorld& world) {
  std::vector<std::string> names;
  for (const CableFault& fault : FindCableFaults(world.fabric(), world.observations()))
    names.push_back(fault.whole_switch ? "switch " + world.fabric().routes.NameOf(fault.place)
                                       : "cable " + world.fabric().routes.CableName(fault.place));
  return names;
}

// Rounds until something is named; 0: nothing.
std::uint32_t RunRounds(CableWorld& world, std::uint64_t seed, std::uint32_t rounds_max) {
  std::mt19937_64 random(seed);
  for (std::uint32_t round = 1; round <= rounds_max; ++round) {
    world.Probe(PairsForCables(world.fabric(), world.observations(), {}, random()), round, random);
    if (!NamesOf(world).empty()) return round;
  }
  return 0;
}

TEST(PairsForCables, UseEachEndpointOnceAndCoverTheCables) {
  CableWorld world(Make(Pods{.pods = 4, .leaves = 4, .spines = 4, .cores = 8, .uplinks = 4}));
  std::mt19937_64 random(1);
  for (std::uint32_t round = 1; round <= 12; ++round) {
    const auto pairs = PairsForCables(world.fabric(), world.observations(), {}, random());
    std::set<std::uint32_t> used;
    for (const ProbeRequest& pair : pairs) {
      EXPECT_TRUE(used.insert(pair.from).second);
      EXPECT_TRUE(used.insert(pair.to).second);
    }
    world.Probe(pairs, round, random);
  }
  std::set<ChannelId> seen;
  for (const Observation& each : world.observations()) {
    std::vector<ChannelId> channels;
    world.fabric().routes.AddPath(each.from, each.to, channels);
    world.fabric().routes.AddPath(each.to, each.from, channels);
    seen.insert(channels.begin(), channels.end());
  }
  EXPECT_GE(seen.size(), UsedChannels(world.fabric()).size() * 95 / 100);
}

TEST(CableFaults, AHealthySubnetHasNone) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  EXPECT_EQ(RunRounds(world, 1, 20), 0U);
}

TEST(CableFaults, WithoutTablesNothingIsNamed) {
  TestSubnet made = Make(FatTree{});
  Fabric fabric;
  EXPECT_THAT(FindCableFaults(fabric, {}), IsEmpty());
}

TEST(CableFaults, ADeadSpineIsASwitchAndADeadHostIsNone) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  world.BreakSwitch("spine-3");
  EXPECT_GT(RunRounds(world, 2, 10), 0U);
  EXPECT_THAT(NamesOf(world), ::testing::ElementsAre("switch spine-3"));
  Analyzer analyzer(world.fabric());
  analyzer.Add(world.observations());
  const v1::BlameReport report = analyzer.Judge();
  ASSERT_EQ(report.suspects_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.suspects(0).kind(), v1::SUSPECT_KIND_SWITCH);

  CableWorld host(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  std::mt19937_64 random(3);
  for (std::uint32_t round = 1; round <= 10; ++round) {
    host.Probe(PairsForCables(host.fabric(), host.observations(), {}, random()), round, random);
  }
  std::vector<Observation> seen = host.observations();
  for (Observation& each : seen)
    if (each.from == 5 || each.to == 5) each.failures = each.attempts;
  EXPECT_THAT(FindCableFaults(host.fabric(), seen), IsEmpty());
}

TEST(CableFaults, TheReportNamesTheCableInsteadOfTheUplinks) {
  CableWorld world(Make(FatTree{.leaves = 8, .spines = 8, .hosts = 16}));
  world.Break(17, 0.5, true);
  ASSERT_GT(RunRounds(world, 4, 10), 0U);
  Analyzer analyzer(world.fabric());
  analyzer.Add(world.observations());
  const v1::BlameReport report = analyzer.Judge();
  ASSERT_EQ(report.suspects_size(), 1) << report.ShortDebugString();
  EXPECT_EQ(report.suspects(0).kind(), v1::SUSPECT_KIND_LINK);
  EXPECT_EQ(report.suspects(0).name(), world.BadName());
  EXPECT_THAT(report.suspects(0).leaf(), ::testing::StartsWith("leaf-")) << "not the spine";
  EXPECT_EQ(report.state(), v1::BLAME_STATE_DECIDED);
}

// 1,024 hosts, 8,448 cables between switches. Prints how many are named.
TEST(CableFaults, OneBadCableOfThousandsIsNamedOrNone) {
  constexpr int kRuns = 12;
  int right = 0;
  int wrong = 0;
  std::mt19937_64 random(7);
  const TestSubnet made =
      Make(Pods{.pods = 4, .leaves = 16, .spines = 48, .cores = 96, .hosts = 16, .uplinks = 28});
  const CableWorld healthy(made);
  const std::set<ChannelId> used = UsedChannels(healthy.fabric());
  for (int run = 0; run < kRuns; ++run) {
    CableWorld world = healthy;
    // Both directions carry traffic, so that each kind of fault has an effect.
    std::size_t cable = 0;
    do {
      cable = random() % world.cables();
    } while (!used.contains(world.ChannelOf(cable)) ||
             !used.contains(world.fabric().routes.Reverse(world.ChannelOf(cable))));
    world.Break(cable, run % 3 == 0 ? 1 : run % 3 == 1 ? 0.3 : 0.05, run % 2 == 0);
    RunRounds(world, random(), 10);
    for (const std::string& name : NamesOf(world)) ++(name == world.BadName() ? right : wrong);
  }
  RecordProperty("right", right);
  RecordProperty("wrong", wrong);
  std::printf("%d of %d named, %d wrong\n", right, kRuns, wrong);
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(right, kRuns / 2);
}

}  // namespace
}  // namespace fabric::blame
