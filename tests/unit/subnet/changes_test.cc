// Changes of the cables between two readings, and plans that cover several subnets.
#include "subnet/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "subnet/builder.h"
#include "subnet/files/formats.h"
#include "subnet/mad/attributes.h"
#include "subnet/plan.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::subnet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// "MOVED BEFORE -> NOW" for each change.
std::vector<std::string> Lines(const v1::SubnetEvent& event) {
  std::vector<std::string> lines;
  for (const v1::SubnetChange& change : event.changes())
    lines.push_back(Format("{} {} -> {}",
                           v1::SubnetChangeKind_Name(change.kind())
                               .substr(std::string_view("SUBNET_CHANGE_KIND_").size()),
                           change.before(), change.now()));
  return lines;
}

// Hosts and spines are in the order of the cables: the first cable is that of a host.
testing::TestSubnet Tree() {
  return testing::Make(testing::FatTree{.leaves = 2, .spines = 2, .hosts = 2});
}

TEST(ChangesBetween, EqualReadingsHasNone) {
  EXPECT_EQ(ChangesBetween(Tree().Read(), Tree().Read()).total(), 0);
}

TEST(ChangesBetween, NamesTheCableThatIsGoneOrNew) {
  testing::TestSubnet less = Tree();
  less.cables.pop_back();
  const Subnet before = Tree().Read();
  const Subnet now = less.Read();
  EXPECT_THAT(Lines(ChangesBetween(before, now)), ElementsAre(StartsWith("GONE \"")));
  EXPECT_THAT(Lines(ChangesBetween(now, before)), ElementsAre(StartsWith("NEW  -> switch \"")));
}

TEST(ChangesBetween, NamesBothEndsOfSwappedCables) {
  testing::TestSubnet swapped = Tree();
  std::swap(swapped.cables[0].from_port, swapped.cables[1].from_port);
  const v1::SubnetEvent event = ChangesBetween(Tree().Read(), swapped.Read());
  EXPECT_EQ(event.total(), 2);
  EXPECT_THAT(Lines(event), ElementsAre(StartsWith("MOVED \""), StartsWith("MOVED \"")));
}

TEST(ChangesBetween, ADeviceThatDoesNotAnswerKeepsItsCable) {
  testing::TestSubnet less = Tree();
  const testing::TestCable gone = less.cables.back();
  less.cables.pop_back();
  Builder builder;
  ASSERT_TRUE(AddFile("net.txt", less.Ibnetdiscover(), builder).ok());
  const std::uint32_t node = builder.NodeOf(NodeType::kUnknown, less.nodes[gone.from].guid);
  builder.SetReading({.reader = "mlx5_0 port 1", .silent = {{node, gone.from_port}}});
  EXPECT_THAT(Lines(ChangesBetween(Tree().Read(), builder.Finish())), IsEmpty());
}

// A subnet with routes that a reader has read, with the master on this host.
Subnet ReadWithMaster(const testing::TestSubnet& made, const std::string& master) {
  Builder builder;
  EXPECT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  EXPECT_TRUE(AddFile("lfts.txt", made.Lfts(), builder).ok());
  const std::uint32_t node = builder.NodeOf(NodeType::kUnknown, made.nodes[made.Find(master)].guid);
  builder.AddManager(
      {.port_guid = builder.PortOf({node, 1})->guid, .state = ManagerState::kMaster});
  builder.SetReading({.reader = "mlx5_0 port 1"});
  return builder.Finish();
}

TEST(ChangesBetween, NamesSwitchesWhoseRoutesChangedAlone) {
  testing::TestSubnet made = Tree();
  made.Route();
  testing::TestSubnet other = made;
  testing::TestNode& leaf = other.nodes[other.Find("leaf-1")];
  const std::uint32_t lid = other.nodes[other.Find("gpu-1 mlx5_0")].lid;
  leaf.routes[lid] = 4;
  EXPECT_THAT(Lines(ChangesBetween(ReadWithMaster(made, "gpu-1 mlx5_0"),
                                   ReadWithMaster(other, "gpu-1 mlx5_0"))),
              ElementsAre("ROUTES  -> switch \"leaf-1\" (1 LID)"));
  EXPECT_EQ(ChangesBetween(ReadWithMaster(made, "gpu-1 mlx5_0"),
                           ReadWithMaster(other, "gpu-1 mlx5_0"), false)
                .total(),
            0)
      << "the reading before had a change";
  // A cable that is gone explains other routes.
  other.cables.pop_back();
  EXPECT_THAT(Lines(ChangesBetween(ReadWithMaster(made, "gpu-1 mlx5_0"),
                                   ReadWithMaster(other, "gpu-1 mlx5_0"))),
              ElementsAre(StartsWith("GONE \"")));
}

TEST(ChangesBetween, NamesTheOldAndTheNewMaster) {
  testing::TestSubnet made = Tree();
  made.Route();
  const Subnet before = ReadWithMaster(made, "gpu-1 mlx5_0");
  EXPECT_THAT(Lines(ChangesBetween(before, ReadWithMaster(made, "gpu-2 mlx5_0"))),
              ElementsAre("MASTER node \"gpu-1\" mlx5_0 port 1 -> node \"gpu-2\" mlx5_0 port 1"));
}

TEST(ChangesBetween, CountsHowOftenALinkWasDown) {
  const testing::TestSubnet made = Tree();
  Builder builder;
  ASSERT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  const testing::TestCable& cable = made.cables[0];
  const std::uint32_t node = builder.NodeOf(NodeType::kUnknown, made.nodes[cable.from].guid);
  PortDetails& details = *builder.DetailsOf({node, cable.from_port});
  details.first_counters = details.counters = CounterValues{};
  (*details.first_counters)[static_cast<std::size_t>(Counter::kLinkDowned)] = 4;
  (*details.counters)[static_cast<std::size_t>(Counter::kLinkDowned)] = 7;
  details.between = std::chrono::minutes(1);
  const v1::SubnetEvent event = ChangesBetween(made.Read(), builder.Finish());
  EXPECT_THAT(Lines(event), ElementsAre(StartsWith("FLAPPED  -> ")));
  EXPECT_EQ(event.changes(0).flaps(), 3);
}

TEST(ChangesBetween, AClearedCounterCountsFromZero) {
  const testing::TestSubnet made = Tree();
  Builder builder;
  ASSERT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  const testing::TestCable& cable = made.cables[0];
  const std::uint32_t node = builder.NodeOf(NodeType::kUnknown, made.nodes[cable.from].guid);
  PortDetails& details = *builder.DetailsOf({node, cable.from_port});
  details.first_counters = details.counters = CounterValues{};
  (*details.first_counters)[static_cast<std::size_t>(Counter::kLinkDowned)] = 9;
  (*details.counters)[static_cast<std::size_t>(Counter::kLinkDowned)] = 2;
  details.between = std::chrono::minutes(1);
  const v1::SubnetEvent event = ChangesBetween(made.Read(), builder.Finish());
  ASSERT_EQ(event.changes_size(), 1);
  EXPECT_EQ(event.changes(0).flaps(), 2);
}

TEST(ChangesBetween, ListsTheFirstOfManyChanges) {
  testing::TestSubnet none = testing::Make(testing::FatTree{.leaves = 4, .hosts = 32});
  const Subnet before = none.Read();
  none.cables.resize(1);
  const v1::SubnetEvent event = ChangesBetween(before, none.Read());
  EXPECT_EQ(event.changes_size(), 64);
  EXPECT_EQ(event.total(), before.Cables().size() - 1);
}

TEST(WorstPorts, HaveTheLargestRates) {
  const testing::TestSubnet made = Tree();
  Builder builder;
  ASSERT_TRUE(AddFile("net.txt", made.Ibnetdiscover(), builder).ok());
  const std::uint32_t leaf =
      builder.NodeOf(NodeType::kSwitch, made.nodes[made.Find("leaf-1")].guid);
  for (std::uint32_t port = 1; port <= 3; ++port) {
    PortDetails& details = *builder.DetailsOf({leaf, port});
    details.first_counters = details.counters = CounterValues{};
    details.between = std::chrono::seconds(10);
    (*details.counters)[static_cast<std::size_t>(Counter::kSymbolErrors)] = 10 * (port - 1);
    (*details.counters)[static_cast<std::size_t>(Counter::kVl15Dropped)] = 1000;
  }
  const Subnet subnet = builder.Finish();
  const auto all = WorstPorts(subnet, 16);
  ASSERT_EQ(all.size(), 2) << "a port without errors is not listed";
  EXPECT_EQ(all[0].port(), 3);
  EXPECT_EQ(all[0].switch_name(), "leaf-1");
  EXPECT_FALSE(all[0].peer().empty());
  ASSERT_EQ(all[0].counts_size(), 1) << "dropped management packets are load";
  EXPECT_EQ(all[0].counts(0).counter(), "SymbolErrorCounter");
  EXPECT_EQ(all[0].counts(0).increase(), 20);
  EXPECT_EQ(all[0].seconds(), 10);
  EXPECT_EQ(WorstPorts(subnet, 1).size(), 1);
}

TEST(PlanFor, TakesTheCablesOfTheSubnet) {
  const Subnet subnet = Tree().Read();
  Plan plan = PlanOf("plan", subnet);
  const std::size_t own = plan.cables.size();
  plan.cables.push_back({.from = {"leaf-of-rail-2", 1}, .to = {"spine-of-rail-2", 1}});
  plan.cables.push_back({.from = {plan.cables[0].from.node, 63}, .to = {"new-node", 1}});
  EXPECT_EQ(PlanFor(plan, subnet).cables.size(), own + 1);
}

}  // namespace
}  // namespace fabric::subnet
