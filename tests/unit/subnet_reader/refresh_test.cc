// Refreshes of a subnet: each change is found within the stated time, and the snapshot is that of a
// complete reading.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "agents/subnet/subnet_watch.h"
#include "tests/unit/subnet_reader/fake_subnet.h"

namespace fabric::agent {
namespace {

using namespace std::chrono_literals;
using subnet::Attribute;
using subnet::testing::FatTree;
using subnet::testing::TestSubnet;
using testing::FakeClock;
using testing::FakeSubnet;

// Without what differs from reading to reading.
v1::SubnetSnapshot Comparable(v1::SubnetSnapshot snapshot) {
  snapshot.clear_started_at();
  snapshot.clear_finished_at();
  snapshot.clear_mads();
  snapshot.clear_lost();
  for (v1::SubnetNode& node : *snapshot.mutable_nodes())
    for (v1::SubnetPort& port : *node.mutable_ports()) {
      port.clear_first_counters();
      if (port.has_counters()) port.mutable_counters()->clear_at();
    }
  return snapshot;
}

struct Refreshed {
  explicit Refreshed(const FatTree& tree = {}) : made(subnet::testing::Make(tree)) {
    made.Route();
    fake.emplace(made, Node("gpu-1 mlx5_0"), clock);
    fake->manager = Node("gpu-2 mlx5_0");
    last = Read();
  }

  std::uint32_t Node(const std::string& name) const { return made.Find(name); }
  v1::SubnetSnapshot Read(SubnetWatch& from) {
    auto snapshot = from.Read(*fake, {});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status().message();
    return snapshot.ok() ? *std::move(snapshot) : v1::SubnetSnapshot();
  }
  v1::SubnetSnapshot Read() { return Read(watch); }
  // A minute later. `packets`: those that it took.
  void Refresh() {
    clock.Advance(1min);
    const std::uint64_t before = fake->requests();
    last = Read();
    packets = fake->requests() - before;
    EXPECT_EQ(last.mads(), packets);
  }
  v1::SubnetSnapshot Complete() {
    SubnetWatch other(clock, {});
    return Read(other);
  }
  void ExpectComplete() {
    const v1::SubnetSnapshot complete = Comparable(Complete());
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(complete, Comparable(last))) << differences;
  }
  const v1::SubnetPort* PortOf(const std::string& name, std::uint32_t number) const {
    for (const v1::SubnetNode& node : last.nodes())
      for (const v1::SubnetPort& port : node.ports())
        if (node.description() == name && port.number() == number) return &port;
    return nullptr;
  }
  std::string PeerOf(const std::string& name, std::uint32_t number) const {
    const v1::SubnetPort* const port = PortOf(name, number);
    if (port == nullptr || port->peer() == 0) return "";
    return last.nodes(static_cast<int>(port->peer()) - 1).description();
  }
  // Port of a switch with a cable to a node.
  std::uint32_t PortTo(const std::string& from, const std::string& to) const {
    for (std::uint32_t number = 1; number < 64; ++number)
      if (PeerOf(from, number) == to) return number;
    return 0;
  }

  FakeClock clock;
  TestSubnet made;
  std::optional<FakeSubnet> fake;
  SubnetWatch watch{clock, {}};
  v1::SubnetSnapshot last;
  std::uint64_t packets = 0;
};

TEST(SubnetRefresh, ReadsOnlyWhatCanHaveChanged) {
  Refreshed world(FatTree{.leaves = 8, .spines = 4, .hosts = 24});
  const std::uint64_t complete = world.packets = world.fake->requests();
  const std::uint64_t tables = world.fake->RequestsFor(Attribute::kForwardingTable);
  const std::uint64_t nodes = world.fake->RequestsFor(Attribute::kNodeInfo);
  const std::uint64_t ports = world.fake->RequestsFor(Attribute::kPortInfo);
  const std::uint64_t names = world.fake->RequestsFor(Attribute::kNodeDescription);
  for (int i = 0; i < 10; ++i) {
    world.Refresh();
    EXPECT_LT(world.packets, complete / 2);
    world.ExpectComplete();
  }
  // 10 complete readings for comparison; in 10 refreshes, each device is identified once more.
  const auto cables = world.made.cables.size();
  EXPECT_EQ(world.fake->RequestsFor(Attribute::kForwardingTable), 11 * tables);
  EXPECT_EQ(world.fake->RequestsFor(Attribute::kNodeInfo), 11 * nodes + 10 + cables);
  EXPECT_EQ(world.fake->RequestsFor(Attribute::kNodeDescription), 12 * names);
  // Of a cable between switches, one end in each refresh.
  EXPECT_EQ(world.fake->RequestsFor(Attribute::kPortInfo), 21 * ports - 10 * 8 * 4);
}

TEST(SubnetRefresh, FindsACableThatWasPulledAndComesBack) {
  Refreshed world;
  const std::uint32_t port = world.PortTo("leaf-2", "spine-1");
  const std::uint32_t other = world.PortOf("leaf-2", port)->peer_port();
  world.Refresh();
  const std::uint64_t quiet = world.packets;
  for (int i = 0; i < 2; ++i) {  // Each end is read once.
    world.fake->Unlink(world.Node("leaf-2"), port);
    world.Refresh();
    EXPECT_EQ(world.PeerOf("leaf-2", port), "");
    EXPECT_EQ(world.PeerOf("spine-1", other), "");
    world.ExpectComplete();
    world.fake->Link(world.Node("leaf-2"), port, world.Node("spine-1"), other);
    world.Refresh();
    EXPECT_EQ(world.PeerOf("leaf-2", port), "spine-1");
    world.ExpectComplete();
    world.Refresh();
    world.ExpectComplete();
  }
  world.Refresh();
  world.Refresh();
  EXPECT_NEAR(static_cast<double>(world.packets), static_cast<double>(quiet), 4);
}

TEST(SubnetRefresh, FindsAHostThatLeavesAndComesBack) {
  Refreshed world;
  const std::string host = "gpu-28 mlx5_0";
  const std::uint32_t leaf = world.Node("leaf-4");
  const std::uint32_t port = world.PortTo("leaf-4", host);
  world.fake->Unlink(leaf, port);
  world.Refresh();
  EXPECT_EQ(world.PortOf(host, 1), nullptr);
  world.ExpectComplete();
  world.fake->Link(leaf, port, world.Node(host), 1);
  world.Refresh();
  EXPECT_EQ(world.PeerOf("leaf-4", port), host);
  world.ExpectComplete();
  // With another name, after a restart within a minute. The counter of the link shows it.
  world.made.nodes[world.Node(host)].name = "gpu-99 mlx5_0";
  world.fake->Unlink(leaf, port);
  world.fake->Link(leaf, port, world.Node("gpu-99 mlx5_0"), 1);
  world.Refresh();
  EXPECT_EQ(world.PeerOf("leaf-4", port), "gpu-99 mlx5_0");
  world.ExpectComplete();
}

TEST(SubnetRefresh, FindsAHostThatHangs) {
  Refreshed world;
  const std::string host = "gpu-28 mlx5_0";
  const std::uint32_t port = world.PortTo("leaf-4", host);
  world.fake->nodes[world.Node(host)].answers = false;
  world.Refresh();
  EXPECT_EQ(world.last.silent_size(), 1);
  world.ExpectComplete();
  world.Refresh();
  EXPECT_EQ(world.last.silent_size(), 1);
  world.ExpectComplete();
  world.fake->nodes[world.Node(host)].answers = true;
  world.Refresh();
  EXPECT_EQ(world.PeerOf("leaf-4", port), host);
  world.ExpectComplete();
}

// Two cables between switches were exchanged within a minute, and all ports are ACTIVE again.
void ExchangeCables(Refreshed& world) {
  const std::uint32_t one = world.PortTo("leaf-2", "spine-1");
  const std::uint32_t other = world.PortTo("leaf-3", "spine-1");
  const std::uint32_t one_end = world.PortOf("leaf-2", one)->peer_port();
  const std::uint32_t other_end = world.PortOf("leaf-3", other)->peer_port();
  world.fake->Unlink(world.Node("leaf-2"), one);
  world.fake->Unlink(world.Node("leaf-3"), other);
  world.fake->Link(world.Node("leaf-2"), one, world.Node("spine-1"), other_end);
  world.fake->Link(world.Node("leaf-3"), other, world.Node("spine-1"), one_end);
}

TEST(SubnetRefresh, FindsAMovedCableAtOnceByTheCounterOfItsLink) {
  Refreshed world;
  const std::uint32_t port = world.PortTo("leaf-2", "spine-1");
  const std::uint32_t before = world.PortOf("leaf-2", port)->peer_port();
  ExchangeCables(world);
  world.Refresh();
  EXPECT_NE(world.PortOf("leaf-2", port)->peer_port(), before);
  world.ExpectComplete();
}

TEST(SubnetRefresh, FindsAMovedCableInTenRefreshesWithoutTheCounter) {
  Refreshed world;
  const std::uint32_t port = world.PortTo("leaf-2", "spine-1");
  const std::uint32_t before = world.PortOf("leaf-2", port)->peer_port();
  world.fake->counts_downed = false;
  ExchangeCables(world);
  for (std::uint32_t i = 0; i < SubnetReader::kShares; ++i) world.Refresh();
  EXPECT_NE(world.PortOf("leaf-2", port)->peer_port(), before);
  world.ExpectComplete();
}

TEST(SubnetRefresh, FindsExchangedHostsAtOnceByTheirLids) {
  Refreshed world;
  world.fake->counts_downed = false;
  const std::uint32_t one = world.PortTo("leaf-2", "gpu-10 mlx5_0");
  const std::uint32_t other = world.PortTo("leaf-4", "gpu-28 mlx5_0");
  ASSERT_TRUE(one != 0 && other != 0);
  world.fake->Unlink(world.Node("leaf-2"), one);
  world.fake->Unlink(world.Node("leaf-4"), other);
  world.fake->Link(world.Node("leaf-2"), one, world.Node("gpu-28 mlx5_0"), 1);
  world.fake->Link(world.Node("leaf-4"), other, world.Node("gpu-10 mlx5_0"), 1);
  world.Refresh();
  EXPECT_EQ(world.PeerOf("leaf-2", one), "gpu-28 mlx5_0");
  world.ExpectComplete();
}

TEST(SubnetRefresh, FindsANewSwitch) {
  TestSubnet larger = subnet::testing::Make(FatTree{.spines = 3});
  larger.Route();
  Refreshed world;
  const std::uint32_t before = static_cast<std::uint32_t>(world.last.nodes_size());
  world.made = std::move(larger);
  world.fake.emplace(world.made, world.Node("gpu-1 mlx5_0"), world.clock);
  world.fake->manager = world.Node("gpu-2 mlx5_0");
  world.Refresh();
  EXPECT_EQ(static_cast<std::uint32_t>(world.last.nodes_size()), before + 1);
  world.ExpectComplete();
  world.Refresh();
  world.ExpectComplete();
}

TEST(SubnetRefresh, FindsASwitchThatRestarted) {
  Refreshed world;
  const std::uint32_t spine = world.Node("spine-2");
  world.fake->nodes[spine].answers = false;
  world.Refresh();
  EXPECT_EQ(world.PortOf("spine-2", 1), nullptr);
  EXPECT_EQ(world.last.silent_size(), 4);
  world.ExpectComplete();
  // It is back, and the subnet manager has not configured it yet.
  world.fake->nodes[spine].answers = true;
  world.made.nodes[spine].lid = 0;
  const auto routes = std::exchange(world.made.nodes[spine].routes, {});
  for (std::uint32_t port = 1; port <= 4; ++port) world.fake->states[{spine, port}] = 2;  // INIT
  world.Refresh();
  ASSERT_NE(world.PortOf("spine-2", 1), nullptr);
  world.ExpectComplete();
  world.made.nodes[spine].lid = 999;
  world.made.nodes[spine].routes = routes;
  world.fake->states.clear();
  world.Refresh();
  world.ExpectComplete();
}

TEST(SubnetRefresh, FindsAnotherLidOfAHostAndOfASwitch) {
  Refreshed world;
  for (const std::string name : {"gpu-3 mlx5_0", "leaf-3"}) {
    world.made.nodes[world.Node(name)].lid = 40;
    world.Refresh();
    EXPECT_EQ(subnet::ReadPortInfo(
                  subnet::BytesOf(world.PortOf(name, name == "leaf-3" ? 0 : 1)->port_info()))
                  ->lid,
              40);
    world.ExpectComplete();
    world.made.nodes[world.Node(name)].lid = name == "leaf-3" ? 41 : 42;
  }
}

TEST(SubnetRefresh, FindsAStateOfOneEndWithinTwoRefreshesAndAtOnceWithTheChangedBit) {
  Refreshed world;
  for (const std::uint32_t number : {1U, 2U}) {
    const std::pair end(world.Node("leaf-" + std::to_string(number)),
                        world.PortTo("leaf-" + std::to_string(number), "spine-1"));
    world.fake->states[end] = 3;  // ARMED
    world.Refresh();
    world.Refresh();
    world.ExpectComplete();
    world.fake->states.clear();
    world.fake->changed_bits = {end.first};
    world.Refresh();
    world.ExpectComplete();
    world.fake->changed_bits.clear();
  }
}

TEST(SubnetRefresh, FindsAnotherSubnetManager) {
  Refreshed world;
  world.fake->more_managers = {world.Node("gpu-5 mlx5_0")};
  world.Refresh();
  EXPECT_EQ(world.last.managers_size(), 2);
  world.ExpectComplete();
}

TEST(SubnetRefresh, ReadsEverythingOnceADay) {
  Refreshed world;
  world.Refresh();
  const std::uint64_t quiet = world.fake->RequestsFor(Attribute::kNodeDescription);
  world.clock.Advance(SubnetWatch::kDiscoveryAge);
  world.Refresh();
  EXPECT_EQ(world.fake->RequestsFor(Attribute::kNodeDescription),
            quiet + static_cast<std::uint64_t>(world.last.nodes_size()));
}

TEST(SubnetRefresh, LooksAtSwitchesAndManagers) {
  Refreshed world;
  const auto look = [&world] {
    const auto seen = world.watch.Look(*world.fake, {});
    EXPECT_TRUE(seen.ok());
    return *seen;
  };
  const std::uint64_t before = world.fake->requests();
  EXPECT_EQ(look(), SubnetWatch::Seen::kNothing);
  EXPECT_EQ(world.fake->requests(), before + 6 + 1) << "switches, and one manager";
  world.fake->changed_bits = {world.Node("spine-1")};
  EXPECT_EQ(look(), SubnetWatch::Seen::kSwitch);
  world.Refresh();
  EXPECT_EQ(look(), SubnetWatch::Seen::kNothing) << "the reading has it";
  world.fake->changed_bits.clear();
  EXPECT_EQ(look(), SubnetWatch::Seen::kNothing) << "a subnet manager cleared it";
  world.fake->changed_bits = {world.Node("spine-1")};
  EXPECT_EQ(look(), SubnetWatch::Seen::kSwitch);
  world.Refresh();
  world.fake->nodes[world.Node("leaf-4")].answers = false;
  EXPECT_EQ(look(), SubnetWatch::Seen::kSwitch);
  world.fake->manager_priority = 7;
  EXPECT_EQ(look(), SubnetWatch::Seen::kManager);
}

}  // namespace
}  // namespace fabric::agent
