// The agent's part of the mesh: two or three nodes in memory, on one thread with a made-up clock.
#include "agents/mesh/mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "agents/mesh/gid.h"
#include "tests/testing/fake_verbs.h"

namespace fabric::mesh {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::FakeFabric;

class NoJob final : public Job {
 public:
  void Run() override {}
  void Finish(SteadyTime) override {}
};

// Devices are named like their nodes: the fabric of the tests knows devices alone.
class Node final : public Worker {
 public:
  Node(FakeFabric& fabric, std::string name)
      : name_(std::move(name)),
        verbs_(fabric),
        mesh_(
            {}, verbs_, *this, [this](const std::string&) { return device_; },
            [this](const v1::ProbePort&) { return busy; },
            [this](const v1::AgentMessage& message) { said.push_back(message); }) {
    SetState(v1::PORT_STATE_ACTIVE);
  }

  void Start(std::unique_ptr<Job> job, bool urgent) override {
    (urgent ? urgent_ : jobs_).push_back(std::move(job));
  }

  void SetState(v1::PortState state) {
    v1::RdmaDevice device;
    device.set_name(name_);
    v1::Port& port = *device.add_ports();
    port.set_number(1);
    port.set_state(state);
    port.set_link_layer(v1::LINK_LAYER_ETHERNET);
    v1::Gid& gid = *port.add_gids();
    gid.set_index(3);
    gid.set_gid(std::string(testing::kFakeGid));
    gid.set_type(v1::GID_TYPE_ROCE_V2);
    device_ = device;
  }
  void Unplug() { device_.reset(); }

  v1::ProbePort port() const {
    v1::ProbePort port;
    port.set_node(name_);
    port.set_device(name_);
    port.set_port(1);
    return port;
  }
  // What it has told last; without an address when it takes no part.
  v1::MeshEndpoint Told() const {
    for (auto at = said.rbegin(); at != said.rend(); ++at)
      if (at->has_mesh_endpoints()) return at->mesh_endpoints().endpoints(0);
    return {};
  }
  std::vector<v1::MeshWindow> Windows() const {
    std::vector<v1::MeshWindow> windows;
    for (const v1::AgentMessage& message : said)
      if (message.has_mesh_window()) windows.push_back(message.mesh_window());
    return windows;
  }
  // All windows together.
  v1::PingSummary Sum() const {
    v1::PingSummary sum;
    for (const v1::MeshWindow& window : Windows())
      for (const v1::MeshPath& path : window.paths()) {
        sum.set_sent(sum.sent() + path.ping().sent());
        sum.set_answered(sum.answered() + path.ping().answered());
        sum.set_lost(sum.lost() + path.ping().lost());
        sum.set_voided(sum.voided() + path.ping().voided());
      }
    return sum;
  }

  void Order(const std::vector<const Node*>& targets, Moment now,
             const std::vector<std::uint32_t>& labels = {}) {
    v1::MeshAssignment order;
    order.set_number(++orders_);
    order.set_pings_per_second(100);
    order.set_window_ms(1000);
    order.set_answer_within_ms(100);
    v1::MeshPortAssignment& own = *order.add_ports();
    *own.mutable_local() = port();
    for (const Node* node : targets) {
      v1::MeshTarget& target = *own.add_targets();
      *target.mutable_remote() = node->port();
      *target.mutable_endpoint() = node->Told().endpoint();
      target.mutable_flow_labels()->Assign(labels.begin(), labels.end());
    }
    mesh_.SetOrder(order, now);
  }
  void End(Moment now) { mesh_.SetOrder({}, now); }

  // Whether somebody who sleeps as long as he may is awake now.
  bool Awake(Moment now, FakeFabric& fabric) const {
    return fabric.HasEvent(name_) || now.steady >= mesh_.next_step() || !urgent_.empty() ||
           !jobs_.empty();
  }
  void Step(Moment now, Duration late) {
    ++steps;
    while (!urgent_.empty() || (!jobs_.empty() && !worker_hangs)) {
      auto& next = urgent_.empty() ? jobs_ : urgent_;
      std::unique_ptr<Job> job = std::move(next.front());
      next.pop_front();
      job->Run();
      mesh_.OnDone(std::move(job), now);
    }
    mesh_.Poll(now.steady, late);
    mesh_.Step(now);
    mesh_.Charge(now.steady, cost);
  }
  void FinishJob(Moment now) { mesh_.OnDone(std::make_unique<NoJob>(), now); }
  const Mesh& mesh() const { return mesh_; }

  std::vector<v1::AgentMessage> said;
  bool busy = false;
  bool worker_hangs = false;
  bool frozen = false;
  Duration cost{};
  int steps = 0;

 private:
  const std::string name_;
  testing::FakeVerbs verbs_;
  std::optional<v1::RdmaDevice> device_;
  std::deque<std::unique_ptr<Job>> urgent_, jobs_;
  std::uint64_t orders_ = 0;
  Mesh mesh_;
};

class MeshTest : public ::testing::Test {
 protected:
  void Pass(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(1)) {
      now.steady += milliseconds(1);
      now.wall += milliseconds(1);
      // Twice: answers are reported after they have left.
      for (int round = 0; round < 3; ++round)
        for (Node* node : {&a, &b, &c})
          if (!node->frozen) node->Step(now, {});
    }
  }
  // As the thread does it: only when something wakes it up.
  void Sleep(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(1)) {
      now.steady += milliseconds(1);
      now.wall += milliseconds(1);
      for (int round = 0; round < 3; ++round)
        for (Node* node : {&a, &b})
          if (node->Awake(now, fabric)) node->Step(now, {});
    }
  }
  // a pings b, and both answer.
  void Begin(const std::vector<std::uint32_t>& labels = {}) {
    for (Node* node : {&a, &b}) node->Order({}, now);
    Pass(milliseconds(20));
    a.Order({&b}, now, labels);
    Pass(milliseconds(2500));  // Until pings count
    a.said.clear();
  }

  FakeFabric fabric;
  Moment now{.steady = SteadyTime(seconds(1000)), .wall = WallTime(seconds(5000))};
  Node a{fabric, "a"}, b{fabric, "b"}, c{fabric, "c"};
};

TEST_F(MeshTest, APortThatOnlyAnswersTellsItsAddressAndSendsNothing) {
  a.Order({}, now);
  Pass(seconds(3));
  EXPECT_NE(a.Told().endpoint().queue_pair_number(), 0u);
  EXPECT_EQ(a.Sum().sent(), 0u);
  EXPECT_EQ(std::count_if(a.said.begin(), a.said.end(),
                          [](const auto& message) { return message.has_mesh_endpoints(); }),
            2)
      << "that it is being opened, then its address; nothing while that stays as it is";
}

TEST_F(MeshTest, TellsTheNetworkFromTheHosts) {
  fabric.SetDelay(std::chrono::microseconds(3));
  Begin({5, 6});
  Pass(seconds(2));
  const v1::MeshWindow window = a.Windows().back();
  EXPECT_NEAR(window.pings_per_second(), 100, 3);
  ASSERT_EQ(window.paths_size(), 1);
  const v1::PingSummary& ping = window.paths(0).ping();
  EXPECT_NEAR(ping.sent(), 100, 3);
  EXPECT_EQ(ping.answered(), ping.sent());
  EXPECT_NEAR(ping.network_round_trip().median_us(), 6.0, 0.2);
  EXPECT_EQ(ping.network_round_trip().histogram_size(), 0);
  ASSERT_EQ(ping.flows_size(), 2);
  EXPECT_EQ(ping.flows(0).flow_label(), 5u);
  EXPECT_NEAR(ping.flows(0).sent(), 50, 2);
  EXPECT_GT(ping.flows(1).median_us(), 0);
}

TEST_F(MeshTest, TellsWhichWayWasLost) {
  Begin({5, 6, 7, 8});
  fabric.LoseFlow("b", 7);
  Pass(seconds(4));
  v1::PingSummary seen = a.Windows().back().paths(0).ping();
  EXPECT_NEAR(seen.lost(), 25, 2);
  for (const v1::FlowSummary& flow : seen.flows()) {
    EXPECT_EQ(flow.lost(), flow.flow_label() == 7 ? flow.sent() : 0);
    if (flow.lost() > 0) {
      EXPECT_EQ(flow.lost_out(), flow.lost());
      EXPECT_EQ(flow.lost_in(), 0u);
    }
  }
  fabric.LoseFlow("a", 5);  // What comes back
  Pass(seconds(4));
  seen = a.Windows().back().paths(0).ping();
  for (const v1::FlowSummary& flow : seen.flows()) {
    if (flow.flow_label() != 5) continue;
    EXPECT_EQ(flow.lost(), flow.sent());
    EXPECT_EQ(flow.lost_in(), flow.lost());
  }
}

TEST_F(MeshTest, ATargetThatIsGoneIsLostAndNobodyElse) {
  for (Node* node : {&a, &b, &c}) node->Order({}, now);
  Pass(milliseconds(20));
  a.Order({&b, &c}, now);
  Pass(milliseconds(2500));
  fabric.Silence("c");
  Pass(seconds(15));
  a.said.clear();
  Pass(seconds(2));
  const v1::MeshWindow window = a.Windows().back();
  ASSERT_EQ(window.paths_size(), 2);
  EXPECT_EQ(window.paths(0).ping().lost(), 0u);
  EXPECT_EQ(window.paths(1).to().node(), "c");
  EXPECT_EQ(window.paths(1).ping().lost(), window.paths(1).ping().sent());
}

TEST_F(MeshTest, AnEmptyOrderLeavesNothing) {
  Begin();
  EXPECT_EQ(fabric.open_queue_pairs(), 2u);
  a.End(now);
  b.End(now);
  Pass(milliseconds(50));
  EXPECT_EQ(fabric.open_queue_pairs(), 0u);
  EXPECT_TRUE(a.mesh().idle());
  EXPECT_EQ(a.mesh().next_step(), SteadyTime::max()) << "it sleeps";
}

TEST_F(MeshTest, APortThatGoesDownSaysWhyAndComesBack) {
  Begin();
  b.SetState(v1::PORT_STATE_DOWN);
  Pass(seconds(2));
  EXPECT_EQ(b.Told().reason(), "b/1: port is DOWN");
  EXPECT_FALSE(b.Told().has_endpoint());
  EXPECT_EQ(fabric.open_queue_pairs(), 1u);
  b.Unplug();
  Pass(seconds(2));
  EXPECT_EQ(b.Told().reason(), "b: no such RDMA device");
  b.SetState(v1::PORT_STATE_ACTIVE);
  Pass(seconds(7));
  EXPECT_TRUE(b.Told().has_endpoint());
}

TEST_F(MeshTest, WhatTheDriverRefusesIsToldAndTriedAgain) {
  fabric.RefuseOpen("a", Status(Code::kResourceExhausted, "a/1: completion queue: no memory"));
  a.Order({}, now);
  Pass(seconds(2));
  EXPECT_EQ(a.Told().reason(), "a/1: completion queue: no memory");
}

TEST_F(MeshTest, APingThatTheDriverFailsOpensThePortAnew) {
  Begin();
  const std::uint32_t before = a.Told().endpoint().queue_pair_number();
  fabric.Break("b", "local QP operation error (2)");
  Pass(seconds(1));
  EXPECT_EQ(a.Told().reason(), "local QP operation error (2)");
  a.said.clear();
  Pass(seconds(6));
  const bool anew = std::any_of(a.said.begin(), a.said.end(), [&](const auto& message) {
    const std::uint32_t number =
        message.mesh_endpoints().endpoints_size() == 0
            ? 0
            : message.mesh_endpoints().endpoints(0).endpoint().queue_pair_number();
    return number != 0 && number != before;
  });
  EXPECT_TRUE(anew);
}

TEST_F(MeshTest, ACampaignsProbeIsNotDisturbed) {
  Begin();
  a.busy = true;
  Pass(milliseconds(1500));
  a.said.clear();
  Pass(seconds(2));
  EXPECT_EQ(a.Sum().sent(), 0u);
  a.busy = false;
  Pass(seconds(2));
  EXPECT_GT(a.Sum().answered(), 50u);
}

TEST_F(MeshTest, AnAnswererThatSlept) {
  Begin();
  b.frozen = true;
  Pass(milliseconds(300));
  b.frozen = false;
  Pass(seconds(3));
  EXPECT_EQ(a.Sum().lost(), 0u) << "it was there and late: no loss of the network's";
  EXPECT_GT(a.Sum().voided(), 10u);
}

TEST_F(MeshTest, NothingIsSaidOfPingsThatNobodyLookedFor) {
  Begin();
  fabric.Silence("b");
  Pass(milliseconds(50));
  a.Step(now, milliseconds(150));
  a.said.clear();
  Pass(milliseconds(95));
  a.End(now);
  EXPECT_EQ(a.Sum().lost(), 0u);
}

TEST_F(MeshTest, WakesUpOnceForEachThingThatIsToBeDone) {
  Begin();
  Sleep(seconds(2));
  const std::uint32_t before = a.Sum().sent();
  a.steps = b.steps = 0;
  Sleep(seconds(3));
  const std::uint32_t pings = a.Sum().sent() - before;
  ASSERT_NEAR(pings, 300, 5);
  EXPECT_NEAR(a.steps, 2 * pings, 15) << "to ping, and for the answer";
  EXPECT_NEAR(b.steps, pings, 15) << "to answer: it reports at once";
  EXPECT_EQ(a.Windows().back().paths(0).ping().network_round_trip().samples(),
            a.Windows().back().paths(0).ping().answered())
      << "and none goes without its times";
}

TEST_F(MeshTest, ReportsAnAnswerThatTookLongToLeave) {
  Begin();
  Sleep(seconds(2));
  fabric.HoldLeaving("b", true);
  Sleep(milliseconds(30));
  fabric.HoldLeaving("b", false);
  EXPECT_TRUE(b.Awake(now, fabric)) << "it waits for that";
  b.Step(now, {});
  EXPECT_FALSE(fabric.HasEvent("a")) << "a report wakes nobody up";
  Sleep(seconds(2));
  const v1::PingSummary sum = a.Sum();
  EXPECT_EQ(sum.lost() + sum.voided(), 0u);
  EXPECT_EQ(a.Windows().back().paths(0).ping().network_round_trip().samples(),
            a.Windows().back().paths(0).ping().answered());
}

// Its thread did not get its turn; steps that come one after the other are no reason to hurry.
TEST_F(MeshTest, TheRateComesBackWithTimeAndNotWithSteps) {
  Begin();
  for (int second = 0; second < 20; ++second) {
    Pass(seconds(1));
    a.Step(now, milliseconds(2));
  }
  for (int n = 0; n < 100; ++n) {
    a.FinishJob(now);
    Pass(milliseconds(10));
  }
  Pass(seconds(1));
  EXPECT_LT(a.Windows().back().pings_per_second(), 5);
  Pass(seconds(60));
  EXPECT_NEAR(a.Windows().back().pings_per_second(), 100, 3);
}

TEST_F(MeshTest, WaitsUntilWhatItHasCostIsPaidFor) {
  Begin();
  Pass(seconds(1));
  a.cost += milliseconds(9);  // 0.3 % of a core are allowed: that of 3 s.
  Pass(milliseconds(1500));
  const auto before = a.Sum().sent();
  Pass(seconds(1));
  EXPECT_EQ(a.Sum().sent(), before);
  Pass(seconds(5));
  EXPECT_GT(a.Sum().sent(), before + 200) << "and as ordered when it costs little";
}

TEST_F(MeshTest, PingsNowAndThenWhateverItCosts) {
  Begin();
  Pass(seconds(1));
  a.cost += seconds(10);
  Pass(seconds(1));
  const auto before = a.Sum().sent();
  Pass(seconds(60));
  EXPECT_NEAR(a.Sum().sent() - before, 20, 1) << "one in three seconds";
}

TEST_F(MeshTest, AnOrderThatKeepsATargetKeepsWhatIsKnownOfIt) {
  Begin({1});
  const std::size_t windows = a.Windows().size();
  a.Order({&b}, now, {1});
  Pass(milliseconds(1100));
  ASSERT_GT(a.Windows().size(), windows);
  EXPECT_GT(a.Windows().back().paths(0).ping().sent(), 90u) << "it counts at once";
}

TEST_F(MeshTest, AnswersGoOnWhileAnAddressIsLookedFor) {
  for (Node* node : {&a, &b, &c}) node->Order({}, now);
  Pass(milliseconds(20));
  b.worker_hangs = true;  // It looks for c, which nobody finds.
  b.Order({&c}, now);
  a.Order({&b}, now);
  Pass(seconds(5));
  EXPECT_GT(a.Sum().answered(), 100u);
  EXPECT_EQ(a.Sum().lost(), 0u);
  b.worker_hangs = false;
  Pass(milliseconds(10));
}

TEST(MeshGid, ComesBackAsItWas) {
  const std::string text = "0000:0000:0000:0000:0000:ffff:0a0a:0001";
  const auto gid = ParseGid(text);
  ASSERT_TRUE(gid.ok());
  EXPECT_EQ((*gid)[12], std::byte{0x0a});
  EXPECT_EQ(GidText(*gid), text);
  for (const char* wrong : {"", "::ffff:10.10.0.1", "0000:0000:0000:0000:0000:ffff:0a0a:000g",
                            "0000-0000:0000:0000:0000:ffff:0a0a:0001"})
    EXPECT_FALSE(ParseGid(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace fabric::mesh
