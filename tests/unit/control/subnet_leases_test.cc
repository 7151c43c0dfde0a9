// Leases for reading InfiniBand subnets.
#include "daemon/control/subnets/subnet_leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/testing/infiniband.h"
#include "tests/testing/nodes.h"

namespace fabric::control {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Duration kInterval = 60s;

class RecordingSink final : public AgentSink {
 public:
  void Send(SessionId session, const v1::ControllerMessage& message) override {
    if (!message.has_subnet_order()) return;
    const v1::SubnetOrder& order = message.subnet_order();
    orders.push_back(order.device().empty()
                         ? Format("{} stop", session.value())
                         : Format("{} {}/{}", session.value(), order.device(), order.port()));
  }
  void Close(SessionId, const Status&) override {}

  std::vector<std::string> orders;  // "1 mlx5_0/1", "1 stop"
};

// Nodes n1, n2, ... with InfiniBand ports; the session of node i has id i.
class SubnetLeasesTest : public ::testing::Test {
 protected:
  void Connect(std::uint32_t number, std::uint32_t rails = 1, bool reads_subnets = true) {
    v1::NodeSnapshot snapshot = Node(number, rails);
    v1::Hello hello;
    *hello.mutable_node() = snapshot.node();
    hello.set_reads_subnets(reads_subnets);
    sessions.Add(SessionId(number), hello, now).reported = true;
    fleet.Put(std::move(snapshot), now);
    leases.OnFleetChange();
  }
  void Disconnect(std::uint32_t number) {
    sessions.Remove(SessionId(number), now);
    leases.OnLost(Format("n{}", number));
  }
  static v1::NodeSnapshot Node(std::uint32_t number, std::uint32_t rails) {
    return testing::InfinibandNode({.number = number, .rails = rails, .gpu = false});
  }
  static std::uint64_t GuidOf(std::uint32_t number, int rail = 0) {
    const v1::NodeSnapshot node = Node(number, static_cast<std::uint32_t>(rail) + 1);
    return ParseGuid(node.rdma_devices(rail).ports(0).port_guid())->value();
  }

  // The orders of the next look.
  std::vector<std::string> Look(Duration after = 10s) {
    now.steady += after;
    now.wall += after;
    sink.orders.clear();
    leases.Tick(fleet, now);
    return std::exchange(sink.orders, {});
  }
  // The holder sends a snapshot with these ports, which is decoded.
  std::vector<std::string> Read(std::uint32_t number, const std::string& device,
                                std::unordered_set<std::uint64_t> ports) {
    Send(number, device);
    sink.orders.clear();
    for (const SubnetNews& each : leases.TakeNews()) {
      if (!each.frame) continue;
      SubnetContent content{.info = {}, .ports = ports, .frame = {}};
      content.info.set_switches(4);
      leases.OnDecoded(each.subnet, std::move(content), now);
    }
    return std::exchange(sink.orders, {});
  }
  void Send(std::uint32_t number, const std::string& device, const std::string& error = "") {
    const auto frame = subnet::Compress("snapshot", {});
    v1::SubnetPart part = subnet::PartOf(*frame, 0);
    part.set_device(device);
    part.set_port(1);
    part.set_error(error);
    leases.OnPart(*sessions.Find(SessionId(number)), part, now);
  }
  std::vector<std::string> Known() {
    std::vector<std::string> known;
    for (const v1::SubnetInfo& info : leases.All())
      known.push_back(Format("{}: {}{}{}", info.name(), info.source(),
                             info.problem().empty() ? "" : ": ", info.problem()));
    return known;
  }

  Moment now{SteadyTime(1h), WallTime(24h * 365 * 50)};
  RecordingSink sink;
  Sessions sessions{sink};
  fleet::Fleet fleet;
  fleet::Sites sites;
  SubnetLeases leases{kInterval, sites, sessions};
};

TEST_F(SubnetLeasesTest, OnePortReadsASubnet) {
  for (const std::uint32_t node : {1U, 2U, 3U}) Connect(node);
  EXPECT_THAT(Look(), ElementsAre("1 mlx5_0/1"));
  EXPECT_THAT(Look(), IsEmpty()) << "the first reading takes time";
  EXPECT_THAT(Read(1, "mlx5_0", {GuidOf(1), GuidOf(2), GuidOf(3)}), IsEmpty());
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: n1 mlx5_0/1"));
}

TEST_F(SubnetLeasesTest, EachRailCanBeASubnet) {
  Connect(1, 2);
  Connect(2, 2);
  EXPECT_THAT(Look(), ElementsAre("1 mlx5_0/1", "1 mlx5_1/1"));
  (void)Read(1, "mlx5_0", {GuidOf(1, 0), GuidOf(2, 0)});
  (void)Read(1, "mlx5_1", {GuidOf(1, 1), GuidOf(2, 1)});
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: n1 mlx5_0/1", "mlx5_1/1: n1 mlx5_1/1"));
}

TEST_F(SubnetLeasesTest, RailsInOneSubnetAreReadOnce) {
  Connect(1, 2);
  EXPECT_THAT(Look(), ElementsAre("1 mlx5_0/1", "1 mlx5_1/1"));
  // The second one is still being read.
  EXPECT_THAT(Read(1, "mlx5_0", {GuidOf(1, 0), GuidOf(1, 1)}), ElementsAre("1 stop"));
  const auto news = leases.TakeNews();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(news[0].subnet, "mlx5_1/1");
  EXPECT_FALSE(news[0].frame);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: n1 mlx5_0/1"));
}

TEST_F(SubnetLeasesTest, AnotherPortTakesOver) {
  for (const std::uint32_t node : {1U, 2U, 3U}) Connect(node);
  (void)Look();
  (void)Read(1, "mlx5_0", {GuidOf(1), GuidOf(3)});
  EXPECT_THAT(Look(), ElementsAre("2 mlx5_0/1")) << "n2 is in another subnet";
  (void)Read(2, "mlx5_0", {GuidOf(2)});
  Disconnect(1);
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: : n1 mlx5_0/1: the agent is not connected",
                                   "mlx5_0/1-2: n2 mlx5_0/1"));
  EXPECT_THAT(Look(0s), ElementsAre("3 mlx5_0/1")) << "at once";
  (void)Read(3, "mlx5_0", {GuidOf(1), GuidOf(3)});
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: n3 mlx5_0/1", "mlx5_0/1-2: n2 mlx5_0/1"));
  EXPECT_THAT(leases.Problems(), IsEmpty());

  // No port is left; one comes back.
  Disconnect(3);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(leases.Problems().size(), 1U);
  Connect(1);
  EXPECT_THAT(Look(), ElementsAre("1 mlx5_0/1"));
}

TEST_F(SubnetLeasesTest, AnErrorGivesTheLeaseToAnotherPortForSomeTime) {
  Connect(1);
  Connect(2);
  (void)Look();
  sink.orders.clear();
  Send(1, "mlx5_0", "umad0: Permission denied");
  EXPECT_THAT(std::exchange(sink.orders, {}), ElementsAre("1 stop"));
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: : n1 mlx5_0/1: umad0: Permission denied"));
  EXPECT_THAT(Look(), ElementsAre("2 mlx5_0/1"));
  Send(2, "mlx5_0", "umad0: Permission denied");
  EXPECT_THAT(Look(), IsEmpty()) << "both have failed";
  EXPECT_THAT(Look(SubnetLeases::kRetryAfter), ElementsAre("1 mlx5_0/1"));
}

TEST_F(SubnetLeasesTest, ASilentHolderLosesTheLease) {
  Connect(1);
  Connect(2);
  (void)Look();
  EXPECT_THAT(Look(SubnetLeases::kPatience), ElementsAre("1 stop", "2 mlx5_0/1"));
  (void)Read(2, "mlx5_0", {GuidOf(1), GuidOf(2)});
  EXPECT_THAT(Look(SubnetLeases::kPatience + kInterval), IsEmpty());
  EXPECT_THAT(Look(kInterval), ElementsAre("2 stop", "1 mlx5_0/1"));
  EXPECT_THAT(Known()[0], HasSubstr("no snapshot arrived in time"));
}

TEST_F(SubnetLeasesTest, AFrameThatCannotBeDecodedIsOrderedAgainOnce) {
  Connect(1);
  (void)Look();
  const Status damaged(Code::kInvalidArgument, "another prefix");
  leases.OnDecoded("mlx5_0/1", damaged, now);
  EXPECT_THAT(std::exchange(sink.orders, {}), ElementsAre("1 mlx5_0/1"));
  leases.OnDecoded("mlx5_0/1", damaged, now);
  EXPECT_THAT(std::exchange(sink.orders, {}), ElementsAre("1 stop"));
  EXPECT_THAT(Known()[0], HasSubstr("another prefix"));
}

TEST_F(SubnetLeasesTest, OneAgentReadsABoundedNumberOfSubnets) {
  Connect(1, 20);
  EXPECT_EQ(Look().size(), 16U);
  EXPECT_THAT(Look(), IsEmpty());
  Connect(2, 20);
  EXPECT_EQ(Look().size(), 4U);
}

TEST_F(SubnetLeasesTest, OneFrameOfEachSubnetWaits) {
  Connect(1);
  (void)Look();
  Send(1, "mlx5_0");
  Send(1, "mlx5_0");
  EXPECT_EQ(leases.TakeNews().size(), 1U);
}

TEST_F(SubnetLeasesTest, PartsOfOthersAreIgnored) {
  Connect(1);
  Connect(2);
  (void)Look();
  Send(2, "mlx5_0");
  Send(1, "mlx5_9");
  EXPECT_THAT(leases.TakeNews(), IsEmpty());
  Send(1, "mlx5_0");
  EXPECT_EQ(leases.TakeNews().size(), 1U);
}

// A port whose GUID is not in its own snapshot, as with GUIDs that were changed by hand.
TEST_F(SubnetLeasesTest, APortThatIsNotInItsSnapshotIsNotReadForEver) {
  Connect(1);
  Connect(2);
  (void)Look();
  (void)Read(1, "mlx5_0", {77});
  EXPECT_THAT(Look(), ElementsAre("2 mlx5_0/1"));
  EXPECT_THAT(Read(2, "mlx5_0", {77}), ElementsAre("2 stop")) << "the same subnet";
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_THAT(Known(), ElementsAre("mlx5_0/1: n1 mlx5_0/1"));
}

TEST_F(SubnetLeasesTest, NodesThatCannotReadGetNoLease) {
  Connect(1, 1, false);
  EXPECT_THAT(Look(), IsEmpty());
  SubnetLeases off(Duration::zero(), sites, sessions);
  Connect(2);
  off.Tick(fleet, {now.steady + 10s, now.wall + 10s});
  EXPECT_THAT(sink.orders, IsEmpty());
}

TEST_F(SubnetLeasesTest, SubnetsOfFilesAreNotRead) {
  sites.set_infiniband(testing::TopologyOf(
      "Switch 65 \"S-00000000000000a0\" # \"MF0;leaf:MQM9700/U1\" base\n" +
      Format("[1] \"H-{0:016x}\"[1]({0:x}) # \"n1\" lid 5 4xNDR\n", GuidOf(1))));
  Connect(1);
  EXPECT_THAT(Look(), IsEmpty());
}

}  // namespace
}  // namespace fabric::control
