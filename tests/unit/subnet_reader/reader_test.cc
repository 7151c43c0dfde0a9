// Reader of a subnet against a fake one: complete, careful, and not misled by bad answers.
#include "agents/subnet/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stop_token>

#include "base/text.h"
#include "proto/json.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "subnet/words.h"
#include "tests/unit/subnet_reader/fake_subnet.h"

namespace fabric::agent {
namespace {

using subnet::testing::FatTree;
using subnet::testing::TestSubnet;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeClock;
using testing::FakeSubnet;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TestSubnet Tree(const FatTree& tree = {}) {
  TestSubnet made = subnet::testing::Make(tree);
  made.Route();
  return made;
}

// A subnet with a reader on its first host.
struct World {
  explicit World(TestSubnet from = Tree())
      : made(std::move(from)), fake(made, made.Find("gpu-1 mlx5_0"), clock) {}

  v1::SubnetSnapshot Read(const ReaderOptions& options = {}) {
    auto snapshot = SubnetReader(fake, clock, options).Read({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status().message();
    return snapshot.ok() ? *std::move(snapshot) : v1::SubnetSnapshot();
  }

  TestSubnet made;
  FakeClock clock;
  FakeSubnet fake;
};

subnet::Subnet SubnetOf(const v1::SubnetSnapshot& snapshot) {
  subnet::Builder builder;
  subnet::AddSnapshot("live", snapshot, builder);
  return builder.Finish();
}

std::vector<std::string> Failures(const v1::SubnetSnapshot& snapshot) {
  const subnet::Subnet subnet = SubnetOf(snapshot);
  EXPECT_THAT(subnet.problems().kept(), IsEmpty());
  std::vector<std::string> texts;
  for (const v1::Finding& finding : subnet::Evaluate(subnet, nullptr, {}).findings)
    if (finding.verdict() == v1::VERDICT_FAIL && finding.rule() != "subnet_standby_manager")
      texts.push_back(Format("{}: {}", finding.rule(), finding.title()));
  return texts;
}

TEST(SubnetReader, ReadsWhatTheFilesOfOtherToolsShow) {
  for (const FatTree& tree : {FatTree{}, FatTree{.leaves = 6, .spines = 4, .hosts = 12},
                              FatTree{.leaves = 8, .spines = 4, .hosts = 16, .rails = 4}}) {
    World world(Tree(tree));
    const subnet::Subnet live = SubnetOf(world.Read());
    const subnet::Subnet files = world.made.Read();
    EXPECT_EQ(live.nodes().size(), files.nodes().size());
    EXPECT_EQ(live.Cables().size(), files.Cables().size());
    for (const subnet::Node& node : files.nodes()) {
      const std::uint32_t index = live.FindGuid(node.guid);
      ASSERT_NE(index, subnet::kNoNode) << node.description;
      EXPECT_EQ(NameOf(live.node(index)), NameOf(node));
      // dump_lfts does not show whether the table continues above its last LID.
      for (std::uint32_t lid = 1; lid <= world.made.nodes.size(); ++lid)
        ASSERT_EQ(live.node(index).RouteTo(lid), node.RouteTo(lid)) << node.description << lid;
    }
  }
}

TEST(SubnetReader, AHealthySubnetHasNoFailureAndNoGap) {
  World world;
  const v1::SubnetSnapshot snapshot = world.Read({.rate_interval = std::chrono::seconds(60)});
  EXPECT_THAT(Failures(snapshot), IsEmpty());
  EXPECT_THAT(snapshot.not_covered(), IsEmpty());
  EXPECT_EQ(snapshot.lost(), 0U);
  EXPECT_EQ(snapshot.mads(), world.fake.requests());
  EXPECT_EQ(snapshot.managers(0).state(), 3U);
  for (const v1::SubnetNode& node : snapshot.nodes())
    for (const v1::SubnetPort& port : node.ports())
      if (!port.port_info().empty()) {
        EXPECT_EQ(port.port_info().substr(0, 8), std::string(8, '\0')) << "M_Key";
      }
}

TEST(SubnetReader, TheSnapshotSurvivesItsFile) {
  World world;
  const v1::SubnetSnapshot snapshot = world.Read();
  for (const bool pretty : {false, true}) {
    subnet::Builder builder;
    ASSERT_TRUE(subnet::AddFile("net.json", ToJson(snapshot, pretty), builder).ok());
    const subnet::Subnet subnet = builder.Finish();
    EXPECT_THAT(subnet.problems().kept(), IsEmpty());
    EXPECT_EQ(subnet.Cables().size(), world.made.cables.size());
    EXPECT_TRUE(subnet.HasRoutes());
    EXPECT_EQ(subnet.reading()->packets, snapshot.mads());
  }
}

TEST(SubnetReader, KeepsItsWindowAndItsPace) {
  World world(Tree({.leaves = 6, .spines = 4, .hosts = 12}));
  const SteadyTime begin = world.clock.Now().steady;
  world.Read();
  EXPECT_LE(world.fake.smps_max(), 4U);
  EXPECT_LE(world.fake.gmps_max(), 16U);
  const double seconds = std::chrono::duration<double>(world.clock.Now().steady - begin).count();
  EXPECT_LE(static_cast<double>(world.fake.requests()), 5000 * seconds + 20);
  EXPECT_LT(seconds, 2 * static_cast<double>(world.fake.requests()) / 5000 + 1);
}

TEST(SubnetReader, LostRequestsAreRepeatedAndSlowItDown) {
  World calm;
  World world;
  world.fake.lose_one_in = 20;
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_GT(snapshot.lost(), 0U);
  EXPECT_EQ(SubnetOf(snapshot).Cables().size(), world.made.cables.size());
  calm.Read();
  EXPECT_LT(calm.clock.Now().steady, world.clock.Now().steady);
}

TEST(SubnetReader, ASilentDeviceIsNamedAndDoesNotDelayTheOthers) {
  World world;
  world.fake.nodes[world.made.Find("gpu-3 mlx5_0")].answers = false;
  const SteadyTime begin = world.clock.Now().steady;
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_EQ(snapshot.silent_size(), 1);
  EXPECT_EQ(static_cast<std::size_t>(snapshot.nodes_size()), world.made.nodes.size() - 1);
  EXPECT_THAT(Failures(snapshot),
              Contains(HasSubstr("subnet_nodes_answer: switch \"leaf-1\" port 3: the link is up")));
  EXPECT_LT(world.clock.Now().steady - begin, std::chrono::seconds(3));
}

TEST(SubnetReader, ADeviceThatBecomesSilentIsSkipped) {
  World world;
  world.fake.nodes[world.made.Find("spine-1")].answers_left = 20;
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_THAT(snapshot.not_covered(), Contains(HasSubstr("skipped, the device does not answer")));
}

TEST(SubnetReader, WithoutTheMKeyPortsAreSilent) {
  World world;
  world.fake.usual.m_key = 0xabcd;
  EXPECT_EQ(SubnetReader(world.fake, world.clock, {}).Read({}).status().code(), Code::kUnavailable);
  EXPECT_THAT(Failures(world.Read({.m_key = 0xabcd})), IsEmpty());
}

TEST(SubnetReader, LateAndDoubleAnswersChangeNothing) {
  World world;
  world.fake.usual.twice = true;
  // Its answers come after the request was given up.
  world.fake.nodes[world.made.Find("gpu-5 mlx5_0")].round_trip = std::chrono::milliseconds(700);
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_EQ(static_cast<std::size_t>(snapshot.nodes_size()), world.made.nodes.size() - 1);
  EXPECT_EQ(snapshot.silent_size(), 1);
  EXPECT_EQ(SubnetOf(snapshot).Cables().size(), world.made.cables.size() - 1);
}

TEST(SubnetReader, AnswersWithAnotherIdOrAttributeAreIgnored) {
  for (const std::size_t at : {std::size_t{15}, std::size_t{17}, std::size_t{23}}) {
    World world;
    world.fake.change = [at, count = 0](subnet::Mad& answer) mutable {
      if (++count % 3 == 0) answer[at] ^= 0x40;
    };
    const v1::SubnetSnapshot snapshot = world.Read();
    // Each is like a lost answer; a request is repeated once.
    EXPECT_GT(snapshot.lost(), 0U);
    for (const v1::SubnetNode& node : snapshot.nodes()) {
      EXPECT_NE(node.type(), v1::SUBNET_NODE_TYPE_UNSPECIFIED);
      EXPECT_NE(node.guid(), 0U);
    }
  }
}

TEST(SubnetReader, AnUnsupportedAttributeIsAskedOnce) {
  World world;
  world.fake.announces_wide_counters = true;
  EXPECT_THAT(world.Read().not_covered(), ElementsAre(HasSubstr("counters: refused")));
  for (const auto& node : world.made.nodes)
    if (node.is_switch) {
      // The requests that were outstanding when the first answer came
      EXPECT_LE(world.fake.RequestsTo(static_cast<std::uint16_t>(node.lid),
                                      subnet::Attribute::kPortCountersExtended),
                2U);
    }
}

TEST(SubnetReader, ErrorsOfAnIntervalNameTheCable) {
  World world;
  world.fake.errors[{world.made.Find("leaf-2"), 1}] = 7;
  const auto failures = Failures(world.Read({.rate_interval = std::chrono::seconds(60)}));
  EXPECT_THAT(failures,
              ElementsAre(HasSubstr("subnet_port_errors: switch \"leaf-2\" port 1 - node")));
  EXPECT_THAT(failures, ElementsAre(HasSubstr("PortRcvErrors +7")));
}

TEST(SubnetReader, APortThatDropsTheDefaultServiceLevelIsNamed) {
  const std::string at = "switch \"leaf-2\" port 3: packets of service level 0 use ";
  for (const auto& [lane, why] : {std::pair(15, "lane 15, which drops them"),
                                  std::pair(9, "lane 9; the link has lanes 0 to 7")}) {
    World world;
    const std::uint32_t leaf = world.made.Find("leaf-2");
    world.fake.lane = [&, wrong = lane](std::uint32_t node, std::uint32_t, std::uint32_t output) {
      return static_cast<std::uint8_t>(node == leaf && output == 3 ? wrong : 0);
    };
    EXPECT_THAT(Failures(world.Read()),
                UnorderedElementsAre(HasSubstr("subnet_default_lane_usable: " + at + why),
                                     HasSubstr("subnet_lanes_equal: switch \"leaf-2\" port 3: ")));
  }
  World world;
  world.fake.weight_of_lane_0 = 0;
  EXPECT_THAT(Failures(world.Read()),
              Contains(HasSubstr("lane 0, which has no weight in the VL arbitration tables")));
}

TEST(SubnetReader, LanesThatDependOnTheInputPortAreUnknown) {
  World world;
  world.fake.lane = [](std::uint32_t, std::uint32_t input, std::uint32_t) {
    return static_cast<std::uint8_t>(input % 2);
  };
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_EQ(std::ranges::count(snapshot.nodes(), true, &v1::SubnetNode::sl_to_vl_by_input), 1)
      << "one switch of the model";
  EXPECT_THAT(Failures(snapshot), IsEmpty());
  const auto coverage = subnet::Evaluate(SubnetOf(snapshot), nullptr, {}).findings;
  EXPECT_TRUE(std::ranges::any_of(coverage, [](const v1::Finding& finding) {
    return finding.rule() == "subnet_lanes_equal" && finding.verdict() == v1::VERDICT_UNKNOWN;
  }));
}

TEST(SubnetReader, WideCountersAreReadWhereTheyAre) {
  World world;
  world.fake.announces_wide_counters = world.fake.has_wide_counters = true;
  world.fake.errors[{world.made.Find("leaf-2"), 1}] = 7;
  const v1::SubnetSnapshot snapshot = world.Read({.rate_interval = std::chrono::seconds(60)});
  EXPECT_THAT(Failures(snapshot), ElementsAre(HasSubstr("PortRcvErrors +7")));
  for (const v1::SubnetNode& node : snapshot.nodes())
    for (const v1::SubnetPort& port : node.ports())
      if (port.has_counters()) {
        EXPECT_TRUE(port.counters().port_counters().empty());
        EXPECT_EQ(port.counters().wide_counters().size(), subnet::kWideCountersBytes);
      }
}

// A receiver does not take packets; the leaf, a spine and another leaf wait for it.
TEST(SubnetReader, CongestionIsFollowedToTheSlowReceiver) {
  World world;
  world.fake.announces_wide_counters = world.fake.has_wide_counters = true;
  const auto port_to = [&](const std::string& from, const std::string& to) {
    const std::uint32_t node = world.made.Find(from);
    const std::uint32_t peer = world.made.Find(to);
    for (const subnet::testing::TestCable& cable : world.made.cables) {
      if (cable.from == node && cable.to == peer) return std::pair(node, cable.from_port);
      if (cable.to == node && cable.from == peer) return std::pair(node, cable.to_port);
    }
    ADD_FAILURE() << from << " " << to;
    return std::pair(0U, 0U);
  };
  // Quantum: 8 bytes for a tick, at 200 Gb/s. Half of a minute.
  const std::uint64_t half = 25'000'000'000 / 8 * 30;
  world.fake.waits[port_to("leaf-1", "gpu-1 mlx5_0")] = half;
  world.fake.waits[port_to("spine-1", "leaf-1")] = half;
  world.fake.waits[port_to("leaf-3", "spine-1")] = half;
  const auto failures = Failures(world.Read({.rate_interval = std::chrono::seconds(60)}));
  EXPECT_THAT(failures,
              ElementsAre(HasSubstr("subnet_no_congestion: switch \"leaf-1\" port 1 waits "
                                    "50 % of the time: node \"gpu-1\" mlx5_0 accepts "
                                    "packets too slowly; 2 more ports wait for it")));
  // Little waiting is normal.
  for (auto& [port, ticks] : world.fake.waits) ticks = half / 10;
  EXPECT_THAT(Failures(world.Read({.rate_interval = std::chrono::seconds(60)})), IsEmpty());
}

TEST(SubnetReader, FirmwareOfSwitchesIsRead) {
  World world;
  world.fake.of_nvidia = true;
  EXPECT_THAT(Failures(world.Read()), IsEmpty());
  // 6 switches: 5 have the usual version.
  world.fake.firmware[world.made.Find("leaf-2")] = 900;
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_THAT(
      Failures(snapshot),
      ElementsAre("subnet_firmware_equal: switch \"leaf-2\": firmware 27.2012.900, expected "
                  "27.2012.1010 (5 of 6 switches of device 0, board MT_0000000063)"));
  EXPECT_THAT(snapshot.not_covered(), IsEmpty());
  for (const v1::SubnetNode& node : snapshot.nodes())
    EXPECT_EQ(node.firmware().empty(), node.type() != v1::SUBNET_NODE_TYPE_SWITCH);
}

// A device may drop packets of a class that it does not know.
TEST(SubnetReader, SwitchesThatAreSilentAboutTheirFirmwareDelayNothing) {
  World world;
  world.fake.of_nvidia = true;
  world.fake.answers_firmware = false;
  const SteadyTime begin = world.clock.Now().steady;
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_LT(world.clock.Now().steady - begin, std::chrono::seconds(3));
  EXPECT_THAT(snapshot.not_covered(), ElementsAre("firmware of switches: no answer (1 request)"));
  EXPECT_THAT(Failures(snapshot), IsEmpty());
}

TEST(SubnetReader, FirmwareIsAskedOfSwitchesOfNvidiaOnly) {
  World world;
  world.fake.answers_firmware = false;
  EXPECT_THAT(world.Read().not_covered(), IsEmpty());
}

TEST(SubnetReader, CountersOfErrorCorrectionNameTheCable) {
  const auto read = [](std::uint32_t symbols, std::uint32_t blocks, bool wide) {
    World world;
    world.fake.has_fec_counters = true;
    world.fake.announces_wide_counters = world.fake.has_wide_counters = wide;
    world.fake.fec[{world.made.Find("leaf-2"), 1}] = {symbols, blocks};
    return Failures(world.Read({.rate_interval = std::chrono::seconds(60)}));
  };
  for (const bool wide : {false, true}) {
    EXPECT_THAT(read(1'000'000, 0, wide), IsEmpty());
    EXPECT_THAT(
        read(5, 2, wide),
        ElementsAre(HasSubstr("subnet_blocks_correctable: switch \"leaf-2\" port 1 - node")));
  }
  // 2.4e-4 of 200 Gb/s in a minute are 2.9e9.
  EXPECT_THAT(read(3'000'000'000U, 0, true), IsEmpty()) << "the counter is at its maximum";
}

TEST(SubnetReader, AStopEndsIt) {
  World world;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(SubnetReader(world.fake, world.clock, {}).Read(stop.get_token()).status().code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace fabric::agent
