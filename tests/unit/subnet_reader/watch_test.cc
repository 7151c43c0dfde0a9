// Repeated reading of a subnet: what is read again, and what the snapshots contain.
#include "agents/subnet/subnet_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "agents/subnet/subnet_thread.h"
#include "subnet/checks/check.h"
#include "subnet/files/formats.h"
#include "tests/unit/subnet_reader/fake_subnet.h"

namespace fabric::agent {
namespace {

using namespace std::chrono_literals;
using subnet::testing::TestSubnet;
using ::testing::Contains;
using testing::FakeClock;
using testing::FakeSubnet;

struct Watched {
  Watched() : made(subnet::testing::Make(subnet::testing::FatTree{})) {
    made.Route();
    fake.emplace(made, made.Find("gpu-1 mlx5_0"), clock);
  }

  v1::SubnetSnapshot Read() {
    auto snapshot = watch.Read(*fake, {});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status().message();
    return snapshot.ok() ? *std::move(snapshot) : v1::SubnetSnapshot();
  }
  bool HaveManagersChanged() {
    const auto seen = watch.Look(*fake, {});
    EXPECT_TRUE(seen.ok()) << seen.status().message();
    return seen.ok() && *seen == SubnetWatch::Seen::kManager;
  }
  std::uint64_t Tables() const { return fake->RequestsFor(subnet::Attribute::kForwardingTable); }
  // A reading a minute later, and the packets that it took.
  std::uint64_t PacketsOfNext(v1::SubnetSnapshot* snapshot = nullptr) {
    clock.Advance(1min);
    const std::uint64_t before = fake->requests();
    v1::SubnetSnapshot read = Read();
    if (snapshot != nullptr) *snapshot = std::move(read);
    return fake->requests() - before;
  }
  void Replace(TestSubnet other) {
    made = std::move(other);
    fake.emplace(made, made.Find("gpu-1 mlx5_0"), clock);
  }

  FakeClock clock;
  TestSubnet made;
  std::optional<FakeSubnet> fake;
  SubnetWatch watch{clock, {}};
};

bool HasTables(const v1::SubnetSnapshot& snapshot) {
  return std::ranges::all_of(snapshot.nodes(), [](const v1::SubnetNode& node) {
    return node.type() != v1::SUBNET_NODE_TYPE_SWITCH || !node.routes().empty();
  });
}

std::vector<std::string> RulesThatFail(const v1::SubnetSnapshot& snapshot) {
  subnet::Builder builder;
  subnet::AddSnapshot("live", snapshot, builder);
  std::vector<std::string> rules;
  for (const v1::Finding& finding : subnet::Evaluate(builder.Finish(), nullptr, {}).findings)
    if (finding.verdict() == v1::VERDICT_FAIL) rules.push_back(finding.rule());
  return rules;
}

TEST(SubnetWatch, TablesAreReadAgainWhenTheyCanHaveChanged) {
  Watched world;
  const v1::SubnetSnapshot first = world.Read();
  const std::uint64_t all = world.Tables();
  EXPECT_TRUE(HasTables(first));
  v1::SubnetSnapshot second;
  (void)world.PacketsOfNext(&second);
  EXPECT_EQ(world.Tables(), all);
  EXPECT_TRUE(HasTables(second)) << "those of the first reading";
  EXPECT_EQ(RulesThatFail(second), RulesThatFail(first));

  // Half an hour later.
  world.clock.Advance(SubnetWatch::kTablesAge);
  (void)world.PacketsOfNext();
  EXPECT_EQ(world.Tables(), 2 * all);
  (void)world.PacketsOfNext();
  EXPECT_EQ(world.Tables(), 2 * all);

  // Another subnet behind the same port: a spine more.
  TestSubnet larger = subnet::testing::Make(subnet::testing::FatTree{.spines = 3});
  larger.Route();
  world.Replace(std::move(larger));
  v1::SubnetSnapshot third;
  (void)world.PacketsOfNext(&third);
  EXPECT_GT(world.Tables(), 0U);
  EXPECT_TRUE(HasTables(third));
}

TEST(SubnetWatch, AnotherMasterReadsTheTablesTwice) {
  Watched world;
  world.Read();
  const std::uint64_t all = world.Tables();
  (void)world.PacketsOfNext();
  EXPECT_FALSE(world.HaveManagersChanged());
  EXPECT_EQ(world.Tables(), all);

  // The master stops, and another one becomes master. Its tables can come later.
  world.fake->manager = world.made.Find("gpu-2 mlx5_0");
  (void)world.PacketsOfNext();
  EXPECT_EQ(world.Tables(), 2 * all);
  (void)world.PacketsOfNext();
  EXPECT_EQ(world.Tables(), 3 * all);
  (void)world.PacketsOfNext();
  EXPECT_EQ(world.Tables(), 3 * all);
}

TEST(SubnetWatch, NoticesThatAManagerStoppedOrChanged) {
  Watched world;
  world.fake->manager = world.made.Find("gpu-4 mlx5_0");
  EXPECT_FALSE(world.HaveManagersChanged()) << "none is known";
  world.Read();
  const std::uint64_t before = world.fake->requests();
  EXPECT_FALSE(world.HaveManagersChanged());
  EXPECT_EQ(world.fake->requests(), before + 1 + 6) << "and the switches";
  world.fake->manager_priority = 7;
  EXPECT_TRUE(world.HaveManagersChanged());
  world.fake->manager_priority = 5;
  world.fake->nodes[world.fake->manager].answers = false;
  EXPECT_TRUE(world.HaveManagersChanged());
}

TEST(SubnetWatch, RatesAreThoseBetweenTwoReadings) {
  Watched world;
  const std::uint32_t leaf = world.made.Find("leaf-1");
  world.fake->errors[{leaf, 1}] = 40;
  EXPECT_THAT(RulesThatFail(world.Read()), Not(Contains("subnet_port_errors")));
  v1::SubnetSnapshot second;
  (void)world.PacketsOfNext(&second);
  EXPECT_THAT(RulesThatFail(second), Contains("subnet_port_errors"));
  world.fake->errors.clear();
  (void)world.PacketsOfNext(&second);
  EXPECT_THAT(RulesThatFail(second), Not(Contains("subnet_port_errors")));
}

TEST(SubnetWatch, NodesAreInTheOrderOfTheirGuids) {
  Watched world;
  const v1::SubnetSnapshot snapshot = world.Read();
  EXPECT_TRUE(std::ranges::is_sorted(snapshot.nodes(), {}, &v1::SubnetNode::guid));
  for (int n = 0; n < snapshot.nodes_size(); ++n)
    for (const v1::SubnetPort& port : snapshot.nodes(n).ports()) {
      if (port.peer() == 0) continue;
      const v1::SubnetNode& peer = snapshot.nodes(static_cast<int>(port.peer()) - 1);
      const auto back = std::ranges::find(peer.ports(), port.peer_port(), &v1::SubnetPort::number);
      ASSERT_NE(back, peer.ports().end());
      EXPECT_EQ(back->peer(), static_cast<std::uint32_t>(n) + 1);
    }
}

}  // namespace
}  // namespace fabric::agent
